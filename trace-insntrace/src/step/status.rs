//! What the kernel reports about a thread in `/proc`.

use std::fs;
use std::io;

use rustix::thread::gettid;

use super::ptrace::Tid;

/// Returns the name of a thread, or an empty one if it has ended.
pub(super) fn name_of(tid: Tid) -> String {
    let name = fs::read_to_string(format!("/proc/{}/comm", tid.0)).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Returns the process of a thread.
pub(super) fn process_of(tid: Tid) -> Option<i32> {
    number(tid, "Tgid:")
}

/// Returns whether this thread traces `tid`.
pub(super) fn traced_by_us(tid: Tid) -> bool {
    // The field has the id of a thread, not of a process.
    number(tid, "TracerPid:") == Some(gettid().as_raw_nonzero().get())
}

/// Returns whether the report of a step is pending, which would kill an untraced thread: a system
/// call that was stepped has been interrupted.
pub(super) fn has_pending_trap(tid: Tid) -> bool {
    const TRAP: u64 = 1 << (libc::SIGTRAP - 1);
    let mask = |name| u64::from_str_radix(&field(tid, name)?, 16).ok();
    let (pending, blocked) = (mask("SigPnd:"), mask("SigBlk:"));
    pending.unwrap_or(0) & !blocked.unwrap_or(0) & TRAP != 0
}

fn number(tid: Tid, name: &str) -> Option<i32> {
    field(tid, name)?.parse().ok()
}

fn field(tid: Tid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{}/status", tid.0)).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

/// Returns the error of a thread that has ended.
pub(super) fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

pub(super) fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}
