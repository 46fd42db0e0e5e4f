//! Processes at the other end of a socket.

use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::sys::sockets;

/// Returns how a process has ended, if it has, and the kernel still knows it.
///
/// `process` is a descriptor of [`Socket::peer_process`](super::Socket::peer_process), and `pid`
/// the id of that process. Once its parent has waited for it, the kernel knows it since Linux 6.15.
/// Before, the status is 0 for a caller that may not trace the process (ptrace(2)).
pub fn exit_status(process: BorrowedFd<'_>, pid: u32) -> Option<ExitStatus> {
    let reaped = || sockets::exit_code(process).ok().flatten();
    // Its parent may wait for it after the first call.
    reaped().or_else(|| exit_code_of_zombie(pid)).or_else(reaped).map(ExitStatus::from_raw)
}

/// Returns the status of a process that has ended, and for which its parent has not waited.
fn exit_code_of_zombie(pid: u32) -> Option<i32> {
    /// Fields after the state; see proc_pid_stat(5).
    const FIELDS_BEFORE_CODE: usize = 48;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let mut fields = behind_name.split_ascii_whitespace();
    fields.next().filter(|state| *state == "Z")?;
    fields.nth(FIELDS_BEFORE_CODE)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::{Child, Command, Stdio};

    use rustix::event::{poll, PollFd, PollFlags};

    use super::*;

    fn shell(script: &str) -> Child {
        Command::new("/bin/sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn the_status_of_an_ended_process_is_known_before_its_parent_waits() {
        for (script, code, signal) in [
            ("exit 101", Some(101), None),
            ("kill -9 $$", None, Some(9)),
            ("exit 0", Some(0), None),
        ] {
            let mut child = shell(script);
            let process = sockets::process(child.id() as i32).unwrap();
            poll(&mut [PollFd::new(&process, PollFlags::IN)], -1).unwrap();
            let status = exit_status(process.as_fd(), child.id()).unwrap();
            assert_eq!((status.code(), status.signal()), (code, signal), "{script}");
            let waited = child.wait().unwrap();
            let known = exit_status(process.as_fd(), child.id());
            assert!(known.is_none_or(|known| known == waited), "since Linux 6.15: {known:?}");
        }
    }

    #[test]
    fn a_process_that_runs_has_no_status() {
        let mut child = shell("read line");
        let process = sockets::process(child.id() as i32).unwrap();
        assert_eq!(exit_status(process.as_fd(), child.id()), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
