//! The threads that the service traces.

use std::fs::{self, File};
use std::io;

use crate::controller::{Status, ThreadKoid};
use crate::step;

/// A thread. Its id may be reused after its end, but not with the same time of its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) tid: u32,
    pub(super) process: u32,
    started: String,
}

impl Target {
    /// Returns a thread that the service may trace.
    pub(super) fn find(thread: ThreadKoid) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let tid = u32::try_from(thread.0).map_err(|_| missing())?;
        let started = start_time(tid)?.ok_or_else(missing)?;
        let process = step::process_of(tid)?;
        // The kernel checks the permission to attach.
        File::open(format!("/proc/{tid}/mem"))?;
        Ok(Self { tid, process, started })
    }

    /// Fails if the thread has ended.
    pub(super) fn check(&self) -> io::Result<()> {
        let started = start_time(self.tid)?;
        let is_same = started.as_ref() == Some(&self.started);
        is_same.then_some(()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the time at which a thread started, in the kernel's unit (proc(5), `starttime`), or
/// `None` if it has exited.
fn start_time(tid: u32) -> io::Result<Option<String>> {
    let stat = fs::read(format!("/proc/{tid}/stat"))?;
    let stat = String::from_utf8_lossy(&stat);
    // The second field is the name, which may contain any byte.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let has_exited = rest.trim_start().starts_with(['Z', 'X']);
    let started = rest.split_ascii_whitespace().nth(19).map(str::to_owned);
    Ok(started.filter(|_| !has_exited))
}

/// Returns the status of an error of a system call.
pub(super) fn status(error: &io::Error) -> Status {
    match error.raw_os_error() {
        Some(libc::ENOMEM | libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::EAGAIN) => {
            Status::NoMemory
        }
        Some(libc::ESRCH) => Status::NotFound,
        _ => match error.kind() {
            io::ErrorKind::NotFound => Status::NotFound,
            io::ErrorKind::PermissionDenied => Status::AccessDenied,
            io::ErrorKind::Unsupported => Status::NotSupported,
            _ => Status::Internal,
        },
    }
}
