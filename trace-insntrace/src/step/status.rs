//! What the kernel reports about a thread in `/proc`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::thread::gettid;

use super::ptrace::Tid;

/// Returns the name of a thread, or an empty one if it has ended.
pub(super) fn name_of(tid: Tid) -> String {
    let name = fs::read(format!("/proc/{}/comm", tid.0)).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// Returns the process of a thread. Fails with [`gone`] if the thread has ended.
pub(super) fn process_of(tid: Tid) -> io::Result<i32> {
    number(tid, "Tgid:")?.ok_or_else(gone)
}

/// Returns whether this thread traces `tid`.
pub(super) fn traced_by_us(tid: Tid) -> io::Result<bool> {
    // The field has the id of a thread, not of a process.
    Ok(number(tid, "TracerPid:")? == Some(gettid().as_raw_nonzero().get()))
}

/// Returns whether a thread has exited. The kernel does not trace it any more.
pub(super) fn has_exited(tid: Tid) -> io::Result<bool> {
    Ok(field(tid, "State:")?.is_none_or(|state| state.starts_with(['Z', 'X'])))
}

/// Returns whether the report of a step is pending, which would kill an untraced thread: a system
/// call that was stepped has been interrupted.
pub(super) fn has_pending_trap(tid: Tid) -> bool {
    const TRAP: u64 = 1 << (libc::SIGTRAP - 1);
    match (mask(tid, "SigPnd:"), mask(tid, "SigBlk:")) {
        (Ok(pending), Ok(blocked)) => pending & !blocked & TRAP != 0,
        // Another step does no harm.
        _ => true,
    }
}

/// Returns whether a signal waits for a thread that does not block it.
pub(super) fn has_pending_signal(tid: Tid) -> bool {
    let mask = |name| mask(tid, name).unwrap_or(0);
    (mask("SigPnd:") | mask("ShdPnd:")) & !mask("SigBlk:") != 0
}

/// Returns whether the process of a thread has a handler of a signal.
pub(super) fn handles(tid: Tid, signal: i32) -> bool {
    let bit = u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    mask(tid, "SigCgt:").unwrap_or(0) & bit.unwrap_or(0) != 0
}

/// Returns the signals that a process ignores.
pub(super) fn ignored_signals(tid: Tid) -> io::Result<u64> {
    mask(tid, "SigIgn:")
}

/// Returns a set of signals.
fn mask(tid: Tid, name: &str) -> io::Result<u64> {
    let mask = field(tid, name)?.and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    Ok(mask.unwrap_or(0))
}

/// Returns whether the processor keeps a second copy of the return addresses of a thread.
pub(super) fn has_shadow_stack(tid: Tid) -> bool {
    let features = field(tid, "x86_Thread_features:");
    features.is_ok_and(|features| features.is_some_and(|features| features.contains("shstk")))
}

/// Returns whether another thread may have to resolve page faults of the process. The tracer must
/// not wait for it.
pub(super) fn has_userfaultfd(tid: Tid) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{}/fd", tid.0)) else { return false };
    let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    targets.any(|path| path.to_string_lossy().contains("[userfaultfd]"))
}

/// Returns the program of a process if it lacks the privileges of its owner or group that its file
/// grants.
pub(super) fn lacks_privileges(tid: Tid) -> Option<String> {
    let path = format!("/proc/{}/exe", tid.0);
    let file = fs::metadata(&path).ok()?;
    // Without permission to execute, the bit of the group does not grant anything.
    let of_group = libc::S_ISGID | libc::S_IXGRP;
    let lacks = |name, id: u32| {
        let ids = field(tid, name).ok().flatten()?;
        Some(ids.split_ascii_whitespace().nth(1)? != id.to_string())
    };
    let lacks_user = file.mode() & libc::S_ISUID != 0 && lacks("Uid:", file.uid())?;
    let lacks_group = file.mode() & of_group == of_group && lacks("Gid:", file.gid())?;
    let program = || fs::read_link(&path).map_or(path.clone(), |it| it.display().to_string());
    (lacks_user || lacks_group).then(program)
}

fn number(tid: Tid, name: &str) -> io::Result<Option<i32>> {
    Ok(field(tid, name)?.and_then(|number| number.parse().ok()))
}

/// Returns a field, or `None` if the thread has ended.
fn field(tid: Tid, name: &str) -> io::Result<Option<String>> {
    let status = match fs::read(format!("/proc/{}/status", tid.0)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_gone(&error) => {
            return Ok(None)
        }
        // The name of the thread may have any bytes.
        status => String::from_utf8_lossy(&status?).into_owned(),
    };
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    Ok(line.map(|line| line.trim().to_owned()))
}

/// Returns the error of a thread that has ended.
pub(super) fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// Returns the error of a panic while a stop was handled.
pub(super) fn panicked() -> io::Error {
    io::Error::other("the tracer has panicked")
}

pub(super) fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}
