//! The calls of ptrace(2) that make system calls of another process fail.
//!
//! Each `unsafe` block is one call of ptrace(2), which checks its arguments.

use std::fs::File;
use std::io;
use std::mem::{size_of, MaybeUninit};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// A stopped thread, which the calling thread traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tracee(pub(crate) i32);

/// A change of a traced thread's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A system call begins or ends.
    SystemCall,
    /// It started a thread, or executed another program.
    Event,
    /// A signal is about to be delivered.
    Signal(i32),
    /// It exited, with the status of waitpid(2).
    Ended(i32),
}

/// A system call that begins or ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SystemCall {
    Begins { number: u64, arguments: [u64; 6] },
    Ends,
}

pub(crate) use libc::user_regs_struct as Registers;

/// Makes the thread that starts `command` trace its process.
pub(crate) fn trace_child(command: &mut Command) {
    let traceme = || {
        // SAFETY: PTRACE_TRACEME takes no other argument.
        check(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, number(0), number(0)) })
    };
    // SAFETY: between fork and exec the closure makes one system call, which is async-signal-safe,
    // and reads `errno`.
    unsafe { command.pre_exec(traceme) };
}

/// Waits for a change of any thread that the calling thread traces. Returns `None` if there is none
/// left.
pub(crate) fn wait() -> Option<(Tracee, Change)> {
    loop {
        let mut status = 0;
        // Not the children of other threads, which are other tests.
        let options = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: `status` is valid for writes.
        match unsafe { libc::waitpid(-1, &mut status, options) } {
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return None,
            thread => return Some((Tracee(thread), change(status))),
        }
    }
}

fn change(status: i32) -> Change {
    if !libc::WIFSTOPPED(status) {
        return Change::Ended(status);
    }
    match libc::WSTOPSIG(status) {
        _ if status >> 16 != 0 => Change::Event,
        signal if signal == libc::SIGTRAP | 0x80 => Change::SystemCall,
        signal => Change::Signal(signal),
    }
}

impl Tracee {
    /// Traces also the threads that it starts, but not its child processes. The process is killed
    /// if the tracer ends.
    pub(crate) fn follow_threads(self) -> io::Result<()> {
        let options = libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_EXITKILL;
        // SAFETY: PTRACE_SETOPTIONS takes bits and touches no memory of ours.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SETOPTIONS, self.0, number(0), number(options as usize))
        })
    }

    /// Continues until the next system call, and delivers `signal` if it is not 0.
    pub(crate) fn resume(self, signal: i32) -> io::Result<()> {
        // SAFETY: PTRACE_SYSCALL takes a number and touches no memory of ours.
        check(unsafe {
            libc::ptrace(libc::PTRACE_SYSCALL, self.0, number(0), number(signal as usize))
        })
    }

    /// Returns the system call at which it is stopped.
    pub(crate) fn system_call(self) -> io::Result<SystemCall> {
        let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: PTRACE_GET_SYSCALL_INFO writes `size` bytes at most.
        check(unsafe {
            libc::ptrace(
                libc::PTRACE_GET_SYSCALL_INFO,
                self.0,
                number(size),
                info.as_mut_ptr().cast::<libc::c_void>(),
            )
        })?;
        // SAFETY: all of its bytes were initialized with zeros, which is valid for numbers.
        let info = unsafe { info.assume_init() };
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return Ok(SystemCall::Ends);
        }
        // SAFETY: the field of the union that belongs to this `op`.
        let entry = unsafe { info.u.entry };
        Ok(SystemCall::Begins { number: entry.nr, arguments: entry.args })
    }

    /// Makes its process read clocks by system calls: hides the kernel's library (vDSO) from a
    /// program that has not run yet. It is stopped after execve(2).
    pub(crate) fn hide_vdso(self) -> io::Result<()> {
        let mut stack = 0;
        self.change_registers(|it| stack = it.rsp)?;
        let memory = self.memory()?;
        let word = |index: u64| read_word(&memory, stack + index * 8);
        // The number of arguments, the arguments, the environment, and pairs of words: auxv.
        let mut index = word(0)? + 2;
        while word(index)? != 0 {
            index += 1;
        }
        index += 1;
        while word(index)? != libc::AT_SYSINFO_EHDR {
            index += 2;
        }
        memory.write_all_at(&libc::AT_IGNORE.to_ne_bytes(), stack + index * 8)
    }

    /// Adds to the seconds at an address, which is that of a `timespec`.
    pub(crate) fn add_seconds(self, address: u64, seconds: i64) -> io::Result<()> {
        let memory = self.memory()?;
        let time = (read_word(&memory, address)? as i64).saturating_add(seconds);
        memory.write_all_at(&time.to_ne_bytes(), address)
    }

    fn memory(self) -> io::Result<File> {
        File::options().read(true).write(true).open(format!("/proc/{}/mem", self.0))
    }

    /// Changes its registers.
    pub(crate) fn change_registers(self, change: impl FnOnce(&mut Registers)) -> io::Result<()> {
        let mut registers = MaybeUninit::<Registers>::zeroed();
        // SAFETY: PTRACE_GETREGS writes one `user_regs_struct`.
        check(unsafe {
            libc::ptrace(libc::PTRACE_GETREGS, self.0, number(0), registers.as_mut_ptr())
        })?;
        // SAFETY: all of its bytes were initialized with zeros, which is valid for numbers.
        let mut registers = unsafe { registers.assume_init() };
        change(&mut registers);
        // SAFETY: PTRACE_SETREGS reads one `user_regs_struct`.
        check(unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.0, number(0), &raw mut registers) })
    }
}

fn read_word(memory: &File, address: u64) -> io::Result<u64> {
    let mut word = [0; 8];
    memory.read_exact_at(&mut word, address)?;
    Ok(u64::from_ne_bytes(word))
}

/// Returns a number as a pointer.
fn number(number: usize) -> *mut libc::c_void {
    ptr::without_provenance_mut(number)
}

fn check(result: libc::c_long) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
