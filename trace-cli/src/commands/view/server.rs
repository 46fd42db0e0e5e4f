//! The HTTP server of `trace view`.

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

use crate::message::HINT;

use super::http::{Request, Response};
use super::pages::{Pages, SCRIPT};
use super::peer;
use super::site::{media_type, Interface, Route, Site, HOSTED};

/// The only loopback port that the content security policy of the hosted interface allows. An
/// installed interface prefers it too: the browser keeps the interface's settings per address.
const PORT: u16 = 9001;

/// How often the server checks whether to end.
const TICK: Duration = Duration::from_millis(200);

/// How long the server runs without a page, such as during a reload.
const RELOAD_TIME: Duration = Duration::from_secs(5);

/// The content security policy of an installed interface: it may load from this server only.
/// Without it, the interface would contact its makers' servers and count visits.
const POLICY: &str = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A server on the loopback interface.
#[derive(Debug)]
pub(super) struct Server {
    listener: TcpListener,
    port: u16,
}

impl Server {
    /// Starts to listen. An installed interface falls back to any free port if `port` is `None`.
    pub(super) fn listen(interface: &Interface, port: Option<u16>) -> Result<Self> {
        let listen = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = match (interface, port) {
            (Interface::Hosted, None | Some(PORT)) => listen(PORT).with_context(|| {
                format!(
                    "cannot listen at 127.0.0.1:{PORT}, the only port where ui.perfetto.dev looks \
                     for traces{HINT}end the program that uses the port, such as another trace \
                     view, or install a copy of the interface, which works with any port: trace \
                     view --setup"
                )
            })?,
            (Interface::Hosted, Some(port)) => bail!(
                "ui.perfetto.dev looks for traces at port {PORT} only, not at {port}{HINT}install a \
                 copy of the interface, which works with any port: trace view --setup"
            ),
            (Interface::Own(_), Some(port)) => listen(port).with_context(|| {
                format!("cannot listen at 127.0.0.1:{port}\nhint: choose another --port, or none")
            })?,
            (Interface::Own(_), None) => {
                listen(PORT).or_else(|_| listen(0)).context("cannot listen at 127.0.0.1")?
            }
        };
        // A client may leave before its connection is accepted.
        listener.set_nonblocking(true).context("cannot listen")?;
        let port = listener.local_addr().context("cannot listen")?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the page is closed, the hosted page has the trace, or `is_over` returns true.
    /// Does not wait for responses in progress.
    pub(super) fn run(&self, site: Site, is_over: impl Fn() -> bool) {
        let shared = Arc::new((site, Pages::default()));
        while !is_over() && !shared.1.are_closed_for(RELOAD_TIME) {
            let Some(stream) = self.accept() else { continue };
            let shared = Arc::clone(&shared);
            // A client that leaves early is no error. If no thread can be started, the client can
            // retry.
            let _ = thread::Builder::new().spawn(move || respond(&shared.0, &shared.1, &stream));
        }
    }

    /// Returns a connection, if one arrives within a tick.
    fn accept(&self) -> Option<TcpStream> {
        let mut listener = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut listener, TICK.as_millis() as i32) {
            Ok(0) | Err(Errno::INTR) => return None,
            // Try to accept all the same; the pause prevents a busy loop.
            Err(_) => thread::sleep(TICK),
            Ok(_) => {}
        }
        match self.listener.accept() {
            Ok((stream, _)) => Some(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            // Out of file descriptors, for example.
            Err(_) => {
                thread::sleep(TICK);
                None
            }
        }
    }
}

/// Responds to one request.
fn respond(site: &Site, pages: &Pages, stream: &TcpStream) -> io::Result<()> {
    let request = match Request::read(stream) {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Response::status("400 Bad Request").write(stream, false);
        }
        request => request?,
    };
    let is_head = request.method == "HEAD";
    let route = site.route(&request, || peer::is_of_this_user(stream));
    let _visit = (!is_head && route.is_content()).then(|| pages.visit());
    let response = match route {
        Route::Forbidden => Response::status("403 Forbidden"),
        Route::NotFound => Response::status("404 Not Found"),
        Route::MethodNotAllowed => {
            Response::status("405 Method Not Allowed").header("Allow", "GET, HEAD")
        }
        Route::Preflight => allowed(Response::status("200 OK")),
        Route::Redirect(address) => Response::status("302 Found").header("Location", &address),
        Route::Trace if site.is_own() => trace(site)?,
        Route::Trace => allowed(trace(site)?),
        Route::Script => Response::text(SCRIPT).header("Content-Type", "text/javascript"),
        Route::Index(path) => index(&path),
        Route::File(path) => file(&path),
        Route::Connection if !is_head => return pages.hold(stream),
        Route::Connection => Response::status("200 OK"),
    };
    response.write(stream, is_head)
}

/// Lets pages of the hosted interface, and of no other site, read a response. Some browsers require
/// the last header before a public page may send requests to this machine.
fn allowed(response: Response) -> Response {
    response
        .header("Access-Control-Allow-Origin", HOSTED)
        .header("Access-Control-Allow-Methods", "GET")
        .header("Access-Control-Allow-Private-Network", "true")
}

fn trace(site: &Site) -> io::Result<Response> {
    let content = site.trace().try_clone()?;
    Ok(Response::file(content).header("Content-Type", "application/octet-stream"))
}

/// Returns the interface's first page, with the script that detects when the page is closed.
fn index(path: &Path) -> Response {
    let Ok(page) = fs::read_to_string(path) else {
        return Response::status("404 Not Found");
    };
    let page = page.replacen("<head>", "<head><script src=\"alive.js\"></script>", 1);
    own(Response::text(page), path)
}

/// Returns a file of the interface.
fn file(path: &Path) -> Response {
    match File::open(path) {
        Ok(file) if file.metadata().is_ok_and(|metadata| metadata.is_file()) => {
            own(Response::file(file), path)
        }
        _ => Response::status("404 Not Found"),
    }
}

fn own(response: Response, path: &Path) -> Response {
    response.header("Content-Type", media_type(path)).header("Content-Security-Policy", POLICY)
}

#[cfg(test)]
mod tests;
