//! The calls of ptrace(2) for the step engine, each with its proof.
//!
//! This is the only module of the crate with `unsafe`.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use rustix::process::{waitpid, Pid, WaitOptions};

/// A stopped thread that the calling thread traces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tracee(Pid);

/// The reason why a traced thread is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// An instruction was executed.
    Step,
    /// A signal handler is about to begin.
    Handler,
    /// A signal is about to be delivered.
    Signal(i32),
    /// The whole process is stopped.
    Group,
    /// The process has executed another program.
    Exec,
    /// The process exited with this status.
    Exited(i32),
    /// This signal ended the process.
    Killed(i32),
}

/// Makes the thread that starts `command` trace its process.
pub(super) fn trace_child(command: &mut Command) {
    let traceme = || {
        // SAFETY: PTRACE_TRACEME takes no other argument.
        check(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, null(), null()) })
    };
    // SAFETY: between fork and exec the closure makes one system call, which is async-signal-safe,
    // and reads `errno`.
    unsafe { command.pre_exec(traceme) };
}

impl Tracee {
    /// Waits for the first stop of a child whose command went through [`trace_child`].
    pub(super) fn of_child(child: u32) -> io::Result<Self> {
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        let tracee = Self(pid.ok_or(io::ErrorKind::InvalidInput)?);
        match tracee.wait_raw()? {
            status if libc::WIFSTOPPED(status) => {}
            _ => return Err(io::Error::other("the program ended before its first instruction")),
        }
        let options = libc::PTRACE_O_TRACEEXEC as usize;
        // SAFETY: PTRACE_SETOPTIONS takes bits and touches no memory of ours.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SETOPTIONS, tracee.raw(), null(), with(options))
        })?;
        Ok(tracee)
    }

    /// Executes one instruction, or delivers `signal` if it is not 0.
    pub(super) fn step(self, signal: i32) -> io::Result<()> {
        // SAFETY: PTRACE_SINGLESTEP takes a number and touches no memory of ours.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SINGLESTEP, self.raw(), null(), with(signal as usize))
        })
    }

    /// Ends tracing. The thread continues, with `signal` if it is not 0.
    pub(super) fn detach(self, signal: i32) -> io::Result<()> {
        // SAFETY: PTRACE_DETACH takes a number and touches no memory of ours.
        check(unsafe {
            libc::ptrace(libc::PTRACE_DETACH, self.raw(), null(), with(signal as usize))
        })
    }

    /// Returns the address of the next instruction.
    pub(super) fn ip(self) -> io::Result<u64> {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
        // SAFETY: PTRACE_GETREGS writes one `user_regs_struct`, for which there is room.
        check(unsafe {
            libc::ptrace(libc::PTRACE_GETREGS, self.raw(), null(), registers.as_mut_ptr())
        })?;
        // SAFETY: the call above succeeded, so that all registers are written.
        Ok(unsafe { registers.assume_init() }.rip)
    }

    /// Waits until the thread is stopped or has ended.
    pub(super) fn wait(self) -> io::Result<Stop> {
        let status = self.wait_raw()?;
        if libc::WIFEXITED(status) {
            return Ok(Stop::Exited(libc::WEXITSTATUS(status)));
        }
        if libc::WIFSIGNALED(status) {
            return Ok(Stop::Killed(libc::WTERMSIG(status)));
        }
        if status >> 8 == libc::SIGTRAP | libc::PTRACE_EVENT_EXEC << 8 {
            return Ok(Stop::Exec);
        }
        self.stop(libc::WSTOPSIG(status))
    }

    /// Distinguishes a step from a signal of the same number, by the signal's code.
    fn stop(self, signal: i32) -> io::Result<Stop> {
        let code = match self.signal_code() {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(Stop::Group),
            code => code?,
        };
        Ok(match (signal, code) {
            (libc::SIGTRAP, libc::TRAP_TRACE | libc::TRAP_BRKPT) => Stop::Step,
            // The kernel's `ptrace_notify` sends this code when a handler was set up.
            (libc::SIGTRAP, libc::SIGTRAP) => Stop::Handler,
            _ => Stop::Signal(signal),
        })
    }

    fn signal_code(self) -> io::Result<i32> {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: PTRACE_GETSIGINFO writes one `siginfo_t`, for which there is room.
        check(unsafe {
            libc::ptrace(libc::PTRACE_GETSIGINFO, self.raw(), null(), info.as_mut_ptr())
        })?;
        // SAFETY: the call above succeeded, so that the information is written.
        Ok(unsafe { info.assume_init() }.si_code)
    }

    fn wait_raw(self) -> io::Result<i32> {
        loop {
            match waitpid(Some(self.0), WaitOptions::empty()) {
                Ok(Some(status)) => return Ok(status.as_raw() as i32),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn raw(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }
}

fn null() -> *mut libc::c_void {
    ptr::null_mut()
}

/// Returns a number as a pointer.
fn with(number: usize) -> *mut libc::c_void {
    ptr::without_provenance_mut(number)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
