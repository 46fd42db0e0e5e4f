//! A filter of system calls.
#![allow(unsafe_code, reason = "no safe library installs filters of system calls")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Instructions of classic BPF: `linux/bpf_common.h`.
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Makes `perf_event_open(2)` fail with `EPERM` in the process of a command and in its children, as
/// the filters of containers do. Only for users who may install filters.
pub(crate) fn deny_perf_events(command: &mut Command) {
    let line = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let failure = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        // The number of the system call is the first field.
        line(LOAD_WORD, 0, 0),
        line(JUMP_IF_EQUAL, 1, libc::SYS_perf_event_open as u32),
        line(RETURN, 0, failure),
        line(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
        // SAFETY: the program and its instructions live through the call, which only reads them.
        match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call, which is async-signal-safe,
    // and reads `errno`.
    unsafe { command.pre_exec(install) };
}
