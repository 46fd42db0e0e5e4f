//! Waiting for a manager to appear, without polling: the kernel tells when something is made in the
//! socket's directory.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use trace_protocol::socket::Socket;

use super::service::Service;
use super::{fork, sys};

/// How often to look for a manager where the kernel cannot tell.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Connects to the manager, as soon as there is one. `None` if the provider is to end.
pub(super) fn for_manager(service: &Service) -> Option<Socket> {
    let path = &service.config.socket;
    if let Ok(socket) = Socket::connect(path) {
        return Some(socket);
    }
    service.settle();
    let inotify = sys::inotify().ok();
    fork::remember_descriptor(1, inotify.as_ref().map_or(-1, |inotify| inotify.as_raw_fd()));
    let found = watch(service, path, inotify.as_ref().map(|inotify| inotify.as_fd()));
    fork::remember_descriptor(1, -1);
    found
}

fn watch(service: &Service, path: &Path, inotify: Option<BorrowedFd<'_>>) -> Option<Socket> {
    while !service.is_quitting() {
        if let Some(inotify) = inotify {
            watch_nearest_directory(inotify, path);
        }
        // Watched first, then tried: a socket that appears in between is not missed.
        if let Ok(socket) = Socket::connect(path) {
            return Some(socket);
        }
        // Where the kernel tells nothing (a user may have too many inotify instances), a look now
        // and then has to do.
        let timeout = inotify.is_none().then_some(LOOK_INTERVAL);
        sys::poll(&mut [sys::interest(Some(service.wake())), sys::interest(inotify)], timeout);
        service.drain_wake();
        if let Some(inotify) = inotify {
            sys::drain(inotify);
        }
    }
    None
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
