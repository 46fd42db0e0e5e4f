//! Waiting for a manager without polling: inotify reports new files in the socket's directory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use trace_protocol::socket::Socket;

use crate::engine::wake::Listener;
use crate::not_traced::NotTraced;
use crate::service::Service;
use crate::sys;

/// The interval between attempts to connect if inotify is not available.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A connection to a manager.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) socket: Socket,
    /// The first socket, if this is the connection to the system's daemon.
    pub(crate) preferred: Option<Preferred>,
}

/// A watch of the first socket, which a manager may create while the system's daemon is used.
#[derive(Debug)]
pub(crate) struct Preferred {
    inotify: OwnedFd,
    /// Whether the socket may have appeared since the last attempt to connect.
    has_changed: bool,
}

impl Preferred {
    fn new(service: &Service, listener: &Listener) -> io::Result<Self> {
        let inotify = watched_inotify(listener)?;
        watch_nearest_directory(inotify.as_fd(), &service.config.socket);
        Ok(Self { inotify, has_changed: true })
    }

    /// Connects to a manager that has appeared at the first socket.
    pub(crate) fn connect(&mut self, service: &Service) -> Option<Socket> {
        self.has_changed |= sys::drain(self.inotify.as_fd());
        if !std::mem::take(&mut self.has_changed) {
            return None;
        }
        watch_nearest_directory(self.inotify.as_fd(), &service.config.socket);
        connect_to(service, &service.config.socket).ok()
    }
}

/// Waits for a manager and connects to it. `None` if the provider must end.
pub(crate) fn for_manager(service: &Service, listener: &Listener) -> Option<Found> {
    if let Ok(found) = connect(service, listener) {
        return Some(found);
    }
    service.settle();
    let inotify = watched_inotify(listener).ok();
    let inotify = inotify.as_ref().map(AsFd::as_fd);
    while !service.is_quitting() {
        if let Some(inotify) = inotify {
            service.config.sockets().for_each(|path| watch_nearest_directory(inotify, path));
        }
        // After the watch, so that a socket which appears in between is found.
        if let Ok(found) = connect(service, listener) {
            return Some(found);
        }
        // A user may have too many inotify instances.
        service.wait(inotify.is_none().then_some(POLL_INTERVAL));
        if let Some(inotify) = inotify {
            sys::drain(inotify);
        }
    }
    None
}

/// Connects to the first manager that listens.
fn connect(service: &Service, listener: &Listener) -> io::Result<Found> {
    let first = connect_to(service, &service.config.socket);
    match (first, &service.config.system_socket) {
        (Err(_), Some(system)) => {
            let socket = connect_to(service, system)?;
            // Without inotify, the first socket is tried after this connection.
            let preferred = Preferred::new(service, listener).ok();
            Ok(Found { socket, preferred })
        }
        (first, _) => first.map(|socket| Found { socket, preferred: None }),
    }
}

/// Connects to a manager. Fails if this process does not accept its user.
fn connect_to(service: &Service, path: &Path) -> io::Result<Socket> {
    let socket = Socket::from(sys::high(Socket::connect(path)?.into()));
    let uid = socket.peer_credentials()?.uid;
    if !service.config.accepts_manager_of(uid) {
        service.report(NotTraced::ManagerUser { socket: path.to_owned(), uid });
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(socket)
}

fn watched_inotify(listener: &Listener) -> io::Result<OwnedFd> {
    let inotify = sys::inotify()?;
    listener.watch(inotify.as_fd())?;
    Ok(inotify)
}

/// Watches the directory of the socket, or the nearest existing one above it.
fn watch_nearest_directory(inotify: BorrowedFd<'_>, path: &Path) {
    // A deeper directory may be created before the one above it is watched: repeated until the
    // result is the same.
    let mut watched = None;
    loop {
        let nearest =
            directories(path).find(|directory| sys::watch_directory(inotify, directory).is_ok());
        if nearest == watched {
            return;
        }
        watched = nearest;
    }
}

/// Returns the directories above a file, the nearest first.
fn directories(path: &Path) -> impl Iterator<Item = &Path> {
    let named = |directory: &Path| !directory.as_os_str().is_empty();
    path.ancestors()
        .skip(1)
        .map(move |directory| if named(directory) { directory } else { Path::new(".") })
}
