//! The calls of ptrace(2) for the step engine, each with its proof.
//!
//! Only this module, `memory` and `tripwire` have `unsafe`.
#![allow(unsafe_code)]

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::{getpid, getppid};

/// The id of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Tid(pub(super) i32);

/// The reason why a traced thread is stopped or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// An instruction was executed.
    Step,
    /// A breakpoint instruction was executed.
    Breakpoint,
    /// A thread is at a breakpoint of the processor.
    HardwareBreakpoint,
    /// A system call begins.
    SystemCall,
    /// A signal handler is about to begin.
    Handler,
    /// A signal is about to be delivered.
    Signal(i32),
    /// The whole process is stopped, until SIGCONT.
    Group,
    /// The thread is new, or was interrupted, or its process continues.
    Trap,
    /// The thread has created another thread or a process.
    NewTask(Tid),
    /// The process has executed another program. The thread that did it had this id.
    Exec(Tid),
    /// The thread exited, with this status of its process.
    Exited(i32),
    /// This signal ended the process.
    Killed(i32),
}

/// The registers that the engine needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers {
    pub(super) ip: u64,
    pub(super) sp: u64,
    /// Whether 64-bit code is executed.
    pub(super) is_64_bit: bool,
    /// Whether the kernel executes the interrupted system call again, unless a handler runs.
    pub(super) restarts: bool,
    /// All registers. The flags are without the trap flag, if the kernel attributes it to the
    /// steps.
    pub(super) all: libc::user_regs_struct,
}

impl Registers {
    /// Returns whether the kernel attributes a trap flag to the program. It would stay set when
    /// tracing ends.
    pub(super) fn has_trap_flag(&self) -> bool {
        has_trap_flag(self.all.eflags)
    }
}

/// Returns whether flags have the trap flag.
pub(super) fn has_trap_flag(flags: u64) -> bool {
    flags & TRAP_FLAG != 0
}

/// The signal that reports a system call, by PTRACE_O_TRACESYSGOOD.
const SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;

/// PTRACE_GETSIGMASK and PTRACE_SETSIGMASK of Linux.
const GET_SIGNAL_MASK: libc::c_uint = 0x420a;
const SET_SIGNAL_MASK: libc::c_uint = 0x420b;

/// The trap flag, TF in `eflags`.
const TRAP_FLAG: u64 = 1 << 8;

/// The debug register that turns breakpoints on, DR7.
const DEBUG_CONTROL: usize = 7;

/// In DR7: the bits before that of each breakpoint, which is one of an instruction.
const CONTROL_BITS: usize = 2;

/// The addresses of the processor's breakpoints, DR0 to DR3.
pub(super) type Breakpoints = [Option<u64>; 4];

/// The code segment of 64-bit code, `__USER_CS` in Linux.
const CODE_SEGMENT_64: u64 = 0x33;

/// The results of interrupted system calls in `rax`: `ERESTARTSYS`, `ERESTARTNOINTR`,
/// `ERESTARTNOHAND` and `ERESTART_RESTARTBLOCK` of Linux.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];

/// Report new threads and processes, which are then traced too.
const FOLLOW: i32 =
    libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;

/// What is traced beside a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// Nothing.
    Nothing,
    /// Threads and processes that it creates.
    Created,
    /// The same; and the thread is killed when the calling thread ends.
    CreatedAndKill,
}

/// How often a held child checks whether its parent lives.
const HOLD_CHECK: Duration = Duration::from_millis(100);

/// Makes the process of `command` send its id, and wait for an answer before it executes the
/// program.
pub(super) fn hold(command: &mut Command, socket: OwnedFd) {
    let parent = getpid();
    let wait = move || {
        rustix::io::write(&socket, &getpid().as_raw_nonzero().get().to_ne_bytes())?;
        loop {
            let mut polled = [PollFd::new(&socket, PollFlags::IN)];
            if poll(&mut polled, HOLD_CHECK.as_millis() as i32)? != 0 {
                return match rustix::io::read(&socket, &mut [0])? {
                    0 => Err(io::ErrorKind::BrokenPipe.into()),
                    _ => Ok(()),
                };
            }
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    };
    // SAFETY: between fork and exec the closure makes only system calls, which are
    // async-signal-safe, and does not allocate.
    unsafe { command.pre_exec(wait) };
}

/// The action of a signal, `struct kernel_sigaction` of Linux.
#[repr(C)]
struct Action {
    handler: libc::sighandler_t,
    flags: libc::c_ulong,
    restorer: usize,
    mask: u64,
}

/// Makes the process of `command` ignore a signal, or have its default action, before it executes
/// the program.
pub(super) fn set_ignored(command: &mut Command, signal: i32, is_ignored: bool) {
    let handler = if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    let set = move || {
        let action = Action { handler, flags: 0, restorer: 0, mask: 0 };
        let (new, old) = (&raw const action, ptr::null_mut::<Action>());
        let size = size_of_val(&action.mask);
        // SAFETY: the call reads one action, whose mask has `size` bytes. No handler is set that
        // the process would execute.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, size) };
        // If the call is refused, the program starts all the same.
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes only a system call, which is
    // async-signal-safe, and does not allocate.
    unsafe { command.pre_exec(set) };
}

/// Begins to trace a thread, which continues.
pub(super) fn seize(tid: Tid, follow: Follow) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD
        | match follow {
            Follow::Nothing => 0,
            Follow::Created => FOLLOW,
            Follow::CreatedAndKill => FOLLOW | libc::PTRACE_O_EXITKILL,
        };
    request(libc::PTRACE_SEIZE, tid, options as usize)
}

/// Stops a running thread.
pub(super) fn interrupt(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Keeps a thread of a stopped process stopped, until SIGCONT.
pub(super) fn listen(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0)
}

/// Returns the mask of blocked signals of a stopped thread: that which it has after a system call
/// with a mask of its own.
pub(super) fn signal_mask(tid: Tid) -> io::Result<u64> {
    let mut mask = 0_u64;
    let size: *mut libc::c_void = ptr::without_provenance_mut(size_of_val(&mask));
    // SAFETY: PTRACE_GETSIGMASK writes as many bytes as the size says, which `mask` has.
    check(unsafe { libc::ptrace(GET_SIGNAL_MASK, tid.0, size, &raw mut mask) })?;
    Ok(mask)
}

/// Sets the mask of blocked signals of a stopped thread.
pub(super) fn set_signal_mask(tid: Tid, mask: u64) -> io::Result<()> {
    let size: *mut libc::c_void = ptr::without_provenance_mut(size_of_val(&mask));
    // SAFETY: PTRACE_SETSIGMASK reads as many bytes as the size says, which `mask` has.
    check(unsafe { libc::ptrace(SET_SIGNAL_MASK, tid.0, size, &raw const mask) })
}

/// Sends a signal to a thread of the process `pid`.
pub(super) fn send(pid: i32, tid: Tid, signal: i32) -> io::Result<()> {
    // SAFETY: the call has numbers only.
    check(unsafe { libc::syscall(libc::SYS_tgkill, pid, tid.0, signal) })
}

/// Executes one instruction, or delivers `signal` if it is not 0.
pub(super) fn step(tid: Tid, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, tid, signal as usize)
}

/// Continues a thread until its next stop, or until it begins or ends a system call.
pub(super) fn run(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, tid, 0)
}

/// Continues a thread until its next event, with `signal` if it is not 0.
pub(super) fn run_freely(tid: Tid, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, signal as usize)
}

/// Sets the processor's breakpoints of a stopped thread, and removes the others. Threads and
/// processes that the thread creates, and programs that it executes, do not have them.
pub(super) fn set_breakpoints(tid: Tid, addresses: &Breakpoints) -> io::Result<()> {
    set(tid, debug_register(DEBUG_CONTROL), 0)?;
    let mut control = 0;
    for (number, address) in addresses.iter().enumerate() {
        let Some(address) = address else { continue };
        set(tid, debug_register(number), *address)?;
        control |= 1 << (CONTROL_BITS * number);
    }
    match control {
        0 => Ok(()),
        control => set(tid, debug_register(DEBUG_CONTROL), control),
    }
}

/// Stops a thread again where it is stopped after a step. The kernel forgets that a step has loaded
/// the flags: from the next step on it attributes the trap flag to the steps, and clears it.
pub(super) fn stop_again(tid: Tid, registers: Registers) -> io::Result<()> {
    clear_trap_flag(tid, registers)?;
    interrupt(tid)?;
    request(libc::PTRACE_CONT, tid, 0)
}

/// Ends tracing. The thread continues, with `signal` if it is not 0.
pub(super) fn detach(tid: Tid, signal: i32) -> io::Result<()> {
    // If these fail, the thread has to be released all the same.
    let _ = registers(tid).and_then(|registers| clear_trap_flag(tid, registers));
    let _ = set_breakpoints(tid, &Breakpoints::default());
    request(libc::PTRACE_DETACH, tid, signal as usize)
}

/// Clears a trap flag that would end an untraced thread.
fn clear_trap_flag(tid: Tid, registers: Registers) -> io::Result<()> {
    if !registers.has_trap_flag() {
        return Ok(());
    }
    let offset = mem::offset_of!(libc::user, regs.eflags);
    set(tid, offset, registers.all.eflags & !TRAP_FLAG)
}

/// Clears the trap flag in R11, which has this value. Returns the new one.
pub(super) fn clear_copied_trap_flag(tid: Tid, flags: u64) -> io::Result<u64> {
    let cleared = flags & !TRAP_FLAG;
    set(tid, mem::offset_of!(libc::user, regs.r11), cleared)?;
    Ok(cleared)
}

/// Continues a stopped thread at `ip`, with the stack pointer `sp`.
pub(super) fn move_to(tid: Tid, ip: u64, sp: u64) -> io::Result<()> {
    set(tid, mem::offset_of!(libc::user, regs.rip), ip)?;
    set(tid, mem::offset_of!(libc::user, regs.rsp), sp)
}

/// Returns the offset of a debug register in `user`.
fn debug_register(number: usize) -> usize {
    mem::offset_of!(libc::user, u_debugreg) + number * size_of::<libc::c_ulonglong>()
}

/// Sets a register, by its offset in `user`.
fn set(tid: Tid, offset: usize, value: u64) -> io::Result<()> {
    let address: *mut libc::c_void = ptr::without_provenance_mut(offset);
    let data: *mut libc::c_void = ptr::without_provenance_mut(value as usize);
    // SAFETY: PTRACE_POKEUSER takes an offset and a number, and touches no memory of ours.
    check(unsafe { libc::ptrace(libc::PTRACE_POKEUSER, tid.0, address, data) })
}

/// Makes a request whose only argument is a number.
fn request(request: libc::c_uint, tid: Tid, number: usize) -> io::Result<()> {
    let data: *mut libc::c_void = ptr::without_provenance_mut(number);
    // SAFETY: the requests of this module take a number and touch no memory of ours.
    check(unsafe { libc::ptrace(request, tid.0, ptr::null_mut::<libc::c_void>(), data) })
}

/// Returns the registers of a stopped thread.
pub(super) fn registers(tid: Tid) -> io::Result<Registers> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
    let null = ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_GETREGS writes one `user_regs_struct`, for which there is space.
    check(unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid.0, null, registers.as_mut_ptr()) })?;
    // SAFETY: the call above succeeded, so that all registers are written.
    let registers = unsafe { registers.assume_init() };
    let interrupted = registers.orig_rax as i64 >= 0;
    Ok(Registers {
        ip: registers.rip,
        sp: registers.rsp,
        is_64_bit: registers.cs == CODE_SEGMENT_64,
        restarts: interrupted && RESTARTS.contains(&(registers.rax as i64)),
        all: registers,
    })
}

/// Waits for the next event of a thread that the calling thread traces, or of its own children.
/// Returns `None` if there are none.
pub(super) fn wait_any() -> io::Result<Option<(Tid, Stop)>> {
    loop {
        let mut status = 0;
        // With WUNTRACED, the stop of a child that is not traced is an event, too.
        let flags = libc::__WALL | libc::__WNOTHREAD | libc::WUNTRACED;
        // SAFETY: waitpid writes one `c_int`.
        let tid = Tid(unsafe { libc::waitpid(-1, &raw mut status, flags) });
        if tid.0 > 0 {
            match stop(tid, status) {
                // The thread was killed meanwhile: its end is the next event.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                stop => return Ok(Some((tid, stop?))),
            }
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}

fn stop(tid: Tid, status: i32) -> io::Result<Stop> {
    if libc::WIFEXITED(status) {
        return Ok(Stop::Exited(libc::WEXITSTATUS(status)));
    }
    if libc::WIFSIGNALED(status) {
        return Ok(Stop::Killed(libc::WTERMSIG(status)));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 if signal == libc::SIGTRAP => trap(tid),
        0 if signal == SYSTEM_CALL => Ok(Stop::SystemCall),
        0 => Ok(Stop::Signal(signal)),
        libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
            Ok(Stop::NewTask(event_tid(tid)?))
        }
        libc::PTRACE_EVENT_EXEC => Ok(Stop::Exec(event_tid(tid)?)),
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => Ok(Stop::Group),
        _ => Ok(Stop::Trap),
    }
}

/// Distinguishes a step from a signal of the same number, by the signal's code.
fn trap(tid: Tid) -> io::Result<Stop> {
    Ok(match signal_code(tid)? {
        libc::TRAP_TRACE | libc::TRAP_BRKPT => Stop::Step,
        libc::SI_KERNEL => Stop::Breakpoint,
        libc::TRAP_HWBKPT => Stop::HardwareBreakpoint,
        // The kernel's `ptrace_notify` sends this code when a handler was set up.
        libc::SIGTRAP => Stop::Handler,
        _ => Stop::Signal(libc::SIGTRAP),
    })
}

/// Returns the code of the signal for which a thread is stopped.
pub(super) fn signal_code(tid: Tid) -> io::Result<i32> {
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    let null = ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_GETSIGINFO writes one `siginfo_t`, for which there is space.
    check(unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, tid.0, null, info.as_mut_ptr()) })?;
    // SAFETY: the call above succeeded, so that the information is written.
    Ok(unsafe { info.assume_init() }.si_code)
}

/// Returns the thread id of an event.
fn event_tid(tid: Tid) -> io::Result<Tid> {
    let mut message: libc::c_ulong = 0;
    let null = ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_GETEVENTMSG writes one `unsigned long`.
    check(unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid.0, null, &raw mut message) })?;
    Ok(Tid(message as i32))
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// From here on this thread and its children do not have a system call.
    pub(crate) fn refuse(call: libc::c_long) {
        const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
        let mut program = [
            instruction(LOAD, 0, 0, 0),
            instruction(JUMP_IF_EQUAL, 0, 1, call as u32),
            instruction(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
            instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: takes integers only.
        assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: the filter points to a program of its length, which lives through the call.
        let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) };
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
    }
}
