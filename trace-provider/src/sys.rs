//! System calls that the standard library does not have, by subject.

mod descriptors;
mod epoll;
mod files;
#[cfg(test)]
mod fork;
mod futex;
mod inotify;
mod library;
mod memory;
mod privileges;
mod ptraced;
mod started;
mod threads;

pub(crate) use descriptors::{high, own_table};
pub(crate) use epoll::{Epoll, Event};
pub(crate) use files::{allocate, reserves_space, wait_until_writable};
#[cfg(test)]
pub(crate) use fork::{in_child, in_cloned_child, unshare_process_ids};
pub(crate) use futex::{wait_for_change, wake_one};
pub(crate) use inotify::{drain, inotify, watch_directory};
pub(crate) use library::keep_loaded;
pub(crate) use memory::{map_generation, map_recorder, map_slots};
pub use privileges::is_privileged;
pub(crate) use privileges::real_user;
pub(crate) use ptraced::is_ptraced;
pub(crate) use started::announce;
pub use started::{announce_own_thread, have_threads_ended};
pub(crate) use threads::{
    own_thread_name, prepare_small_stack, run_beside, spawn, without_signals,
};

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Returns the descriptor that a system call has returned, or the call's error.
fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this descriptor, and no other owner has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the result of a system call, or the call's error if it is -1.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
