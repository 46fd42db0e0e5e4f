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

/// Waits for a manager and connects to it. `None` if the provider must end.
pub(crate) fn for_manager(service: &Service, listener: &Listener) -> Option<Socket> {
    if let Ok(socket) = connect(service) {
        return Some(socket);
    }
    service.settle();
    let inotify = watched_inotify(listener).ok();
    let inotify = inotify.as_ref().map(AsFd::as_fd);
    while !service.is_quitting() {
        if let Some(inotify) = inotify {
            service.config.sockets().for_each(|path| watch_nearest_directory(inotify, path));
        }
        // After the watch, so that a socket which appears in between is found.
        if let Ok(socket) = connect(service) {
            return Some(socket);
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
fn connect(service: &Service) -> io::Result<Socket> {
    let first = connect_to(service, &service.config.socket);
    match &service.config.system_socket {
        Some(system) => first.or_else(|_| connect_to(service, system)),
        None => first,
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
