//! Telling when nothing is needed any more.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Keeps a connection open as long as the page is. The browser opens it again
/// if it breaks. What nothing refers to the browser may throw away.
pub(super) const SCRIPT: &str =
    "window.traceView = new EventSource(new URL('alive', document.currentScript.src));\n";

/// Who is being served.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    visits: u32,
    /// When the last one was over.
    left: Option<Instant>,
}

impl Pages {
    /// Takes note that someone is being served, until what it returns is
    /// dropped.
    pub(super) fn visit(&self) -> Visit<'_> {
        self.state().visits += 1;
        Visit(self)
    }

    /// Keeps a page's connection until the page is closed.
    pub(super) fn hold(&self, mut stream: &TcpStream) -> io::Result<()> {
        let _visit = self.visit();
        stream.set_read_timeout(None)?;
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
              Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        )?;
        // The browser has nothing to say.
        io::copy(&mut stream, &mut io::sink())?;
        Ok(())
    }

    /// Tells whether someone was there, and no one is any more since some time.
    pub(super) fn are_closed_for(&self, time: Duration) -> bool {
        let state = self.state();
        state.visits == 0 && state.left.is_some_and(|left| left.elapsed() >= time)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Someone who is being served.
#[derive(Debug)]
pub(super) struct Visit<'a>(&'a Pages);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.visits -= 1;
        state.left = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_closed_when_the_last_one_is() {
        let pages = Pages::default();
        let are_closed = || pages.are_closed_for(Duration::ZERO);
        assert!(!are_closed(), "no one was there yet");
        let (first, second) = (pages.visit(), pages.visit());
        drop(first);
        assert!(!are_closed());
        drop(second);
        assert!(are_closed() && !pages.are_closed_for(Duration::MAX));
        let _again = pages.visit();
        assert!(!are_closed(), "it was loaded again");
    }
}
