//! Detection of the moment when all pages are closed.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Keeps a connection open while the page is open. The browser reopens a broken connection. The
/// variable keeps the object from garbage collection.
pub(super) const SCRIPT: &str =
    "window.traceView = new EventSource(new URL('alive', document.currentScript.src));\n";

/// The clients that are being served.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    visits: u32,
    /// When the last visit ended.
    left: Option<Instant>,
}

impl Pages {
    /// Counts a client until the returned value is dropped.
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
        // The browser sends no data: this returns when the page is closed.
        io::copy(&mut stream, &mut io::sink())?;
        Ok(())
    }

    /// Returns whether there were clients, and the last one left at least `time` ago.
    pub(super) fn are_closed_for(&self, time: Duration) -> bool {
        let state = self.state();
        state.visits == 0 && state.left.is_some_and(|left| left.elapsed() >= time)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A client that is being served.
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
        assert!(!are_closed(), "no client yet");
        let (first, second) = (pages.visit(), pages.visit());
        drop(first);
        assert!(!are_closed());
        drop(second);
        assert!(are_closed() && !pages.are_closed_for(Duration::MAX));
        let _reloaded = pages.visit();
        assert!(!are_closed(), "it was reloaded");
    }
}
