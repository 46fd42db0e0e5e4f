//! The server.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;

use super::http::{Answer, Request};
use super::pages::{Pages, SCRIPT};
use super::peer;
use super::site::{media_type, Interface, Site, Wanted, HOSTED};

/// The only port on loopback that the hosted interface's policy lets it fetch
/// from. An own one takes it too, if it can: what the user sets in it is kept by
/// the browser for this address.
const PORT: u16 = 9001;

/// How often it is seen to whether to end.
const TICK: Duration = Duration::from_millis(200);

/// How long no page may be there, as while one is loaded again.
const AWAY: Duration = Duration::from_secs(5);

/// What an own interface may load: nothing from elsewhere. Left to itself it
/// would look whether the user is one of its makers, and count visits.
const POLICY: &str = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A server on the loopback interface.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    port: u16,
}

impl Server {
    /// Starts to listen, for an own interface at any port if none is asked for.
    pub(super) fn listen(interface: &Interface, port: Option<u16>) -> Result<Self> {
        let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = match (interface, port) {
            (Interface::Hosted, None | Some(PORT)) => listen(PORT).with_context(|| {
                format!(
                    "cannot listen at 127.0.0.1:{PORT}, the only place where ui.perfetto.dev looks \
                     for traces: end what is there, as another `trace view`, or take a copy of the \
                     interface, which works with any port (trace view --setup)"
                )
            })?,
            (Interface::Hosted, Some(port)) => bail!(
                "ui.perfetto.dev looks for traces at port {PORT} only, not at {port}: a copy of \
                 the interface works with any port (trace view --setup)"
            ),
            (Interface::Own(_), Some(port)) => listen(port).with_context(|| {
                format!("cannot listen at 127.0.0.1:{port}\nhint: choose another --port, or none")
            })?,
            (Interface::Own(_), None) => {
                listen(PORT).or_else(|_| listen(0)).context("cannot listen at 127.0.0.1")?
            }
        };
        // Whoever connected may have left before it is accepted.
        listener.set_nonblocking(true).context("cannot listen")?;
        let port = listener.local_addr().context("cannot listen")?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the page is closed, or the hosted one has the trace, or
    /// `is_over` says so. Who is being served then is not waited for.
    pub(super) fn run(&self, site: Site, is_over: impl Fn() -> bool) {
        let shared = Arc::new((site, Pages::default()));
        while !is_over() && !shared.1.are_closed_for(AWAY) {
            let Some(stream) = self.accept() else { continue };
            let shared = Arc::clone(&shared);
            // Whoever asked may leave at any time: that is no error. If there
            // is no thread to be had they may ask again.
            let _ = thread::Builder::new().spawn(move || answer(&shared.0, &shared.1, &stream));
        }
    }

    /// Returns a connection, if there is one soon.
    fn accept(&self) -> Option<TcpStream> {
        let mut listener = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut listener, TICK.as_millis() as i32) {
            Ok(0) | Err(Errno::INTR) => return None,
            // The same as if it says that there is one, but not over and over.
            Err(_) => thread::sleep(TICK),
            Ok(_) => {}
        }
        match self.listener.accept() {
            Ok((stream, _)) => Some(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            // There are too many.
            Err(_) => {
                thread::sleep(TICK);
                None
            }
        }
    }
}

/// Answers one request.
fn answer(site: &Site, pages: &Pages, stream: &TcpStream) -> io::Result<()> {
    let request = match Request::read(stream) {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Answer::status("400 Bad Request").write(stream, false);
        }
        request => request?,
    };
    let is_head = request.method == "HEAD";
    let wanted = site.find(&request, || peer::is_of_this_user(stream));
    let _visit = (!is_head && wanted.is_content()).then(|| pages.visit());
    let answer = match wanted {
        Wanted::Forbidden => Answer::status("403 Forbidden"),
        Wanted::Nothing => Answer::status("404 Not Found"),
        Wanted::Method => Answer::status("405 Method Not Allowed").header("Allow", "GET, HEAD"),
        Wanted::Preflight => allowed(Answer::status("200 OK")),
        Wanted::Page(address) => Answer::status("302 Found").header("Location", &address),
        Wanted::Trace if site.is_own() => trace(site)?,
        Wanted::Trace => allowed(trace(site)?),
        Wanted::Script => Answer::text(SCRIPT).header("Content-Type", "text/javascript"),
        Wanted::Index(path) => index(&path),
        Wanted::File(path) => file(&path),
        Wanted::Alive if !is_head => return pages.hold(stream),
        Wanted::Alive => Answer::status("200 OK"),
    };
    answer.write(stream, is_head)
}

/// Lets pages of the hosted interface, and of no other site, read an answer.
/// The last is what some browsers ask before a page of the internet may ask
/// this machine.
fn allowed(answer: Answer) -> Answer {
    answer
        .header("Access-Control-Allow-Origin", HOSTED)
        .header("Access-Control-Allow-Methods", "GET")
        .header("Access-Control-Allow-Private-Network", "true")
}

fn trace(site: &Site) -> io::Result<Answer> {
    let content = site.trace().try_clone()?;
    Ok(Answer::file(content).header("Content-Type", "application/octet-stream"))
}

/// Returns the interface's first page, with a script that tells when it is
/// closed.
fn index(path: &Path) -> Answer {
    let Ok(page) = fs::read_to_string(path) else {
        return Answer::status("404 Not Found");
    };
    let page = page.replacen("<head>", "<head><script src=\"alive.js\"></script>", 1);
    own(Answer::text(page), path)
}

/// Returns another file of the interface.
fn file(path: &Path) -> Answer {
    match File::open(path) {
        Ok(file) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => {
            own(Answer::file(file), path)
        }
        _ => Answer::status("404 Not Found"),
    }
}

fn own(answer: Answer, path: &Path) -> Answer {
    answer.header("Content-Type", media_type(path)).header("Content-Security-Policy", POLICY)
}

#[cfg(test)]
mod tests;
