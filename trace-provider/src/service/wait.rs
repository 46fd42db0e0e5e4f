//! Waiting for a manager to appear, without polling: the kernel tells when something is made in the
//! socket's directory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use trace_protocol::socket::Socket;

use crate::engine::wake::Listener;
use crate::not_traced::NotTraced;
use crate::service::Service;
use crate::sys;

/// How often to look for a manager where the kernel cannot tell.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Connects to the manager, as soon as there is one. `None` if the provider is to end.
pub(crate) fn for_manager(service: &Service, listener: &Listener) -> Option<Socket> {
    if let Ok(socket) = connect(service) {
        return Some(socket);
    }
    service.settle();
    let inotify = watched_inotify(listener).ok();
    let inotify = inotify.as_ref().map(AsFd::as_fd);
    while !service.is_quitting() {
        if let Some(inotify) = inotify {
            watch_nearest_directory(inotify, &service.config.socket);
        }
        // Watched first, then tried: a socket that appears in between is not missed.
        if let Ok(socket) = connect(service) {
            return Some(socket);
        }
        // Where the kernel tells nothing (a user may have too many inotify instances), a look now
        // and then has to do.
        service.wait(inotify.is_none().then_some(LOOK_INTERVAL));
        if let Some(inotify) = inotify {
            sys::drain(inotify);
        }
    }
    None
}

/// Connects to a manager that this process accepts.
fn connect(service: &Service) -> io::Result<Socket> {
    let path = &service.config.socket;
    let socket = Socket::from(sys::high(Socket::connect(path)?.into()));
    let uid = socket.peer_credentials()?.uid;
    if !service.config.accepts_manager_of(uid) {
        service.report(NotTraced::ManagerUser { socket: path.clone(), uid });
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(socket)
}

fn watched_inotify(listener: &Listener) -> io::Result<OwnedFd> {
    let inotify = sys::inotify()?;
    listener.watch(inotify.as_fd())?;
    Ok(inotify)
}

/// Watches the directory of the socket, or the nearest one above it that exists.
fn watch_nearest_directory(inotify: BorrowedFd<'_>, path: &Path) {
    // Deeper directories may be made while one above them is about to be watched: tried again until
    // nothing deeper can be.
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

/// The directories above a file, the nearest first.
fn directories(path: &Path) -> impl Iterator<Item = &Path> {
    let named = |directory: &Path| !directory.as_os_str().is_empty();
    path.ancestors()
        .skip(1)
        .map(move |directory| if named(directory) { directory } else { Path::new(".") })
}
