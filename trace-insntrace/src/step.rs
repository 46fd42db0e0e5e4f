//! A step engine: the instructions of a process, executed one by one.
//!
//! It works on any x86-64 Linux, without hardware for tracing. It is exact and slow: each
//! instruction is a stop of the process, which takes about 10 µs.
//!
//! Not supported yet: other threads and child processes, code that changes after its first
//! execution, address ranges, and attaching to a running process.

mod code;
mod encoder;
mod ptrace;

use std::io;
use std::marker::PhantomData;
use std::process::{Child, Command};

use self::code::Code;
use self::encoder::Encoder;
use self::ptrace::{Stop, Tracee};
use crate::flow::{DecodedInstruction, Image, InstructionKind};
use crate::pt::Writer;

/// A process whose first thread executes one instruction at a time.
///
/// Other threads and child processes are not traced. If the engine is dropped, the process
/// continues untraced.
#[derive(Debug)]
pub struct Stepper {
    attached: Attached,
    child: Child,
    code: Code,
    encoder: Encoder,
    ip: u64,
    /// Whether the last instruction was a system call, which a signal may restart.
    after_system_call: bool,
    end: Option<StepEnd>,
    /// Only the thread that started the process may step it.
    not_send: PhantomData<*const ()>,
}

/// The reason why there are no more steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    /// The process exited with this status.
    Exited(i32),
    /// This signal ended the process.
    Killed(i32),
    /// The process has executed another program, which is not traced.
    Exec,
}

/// The bytes of a system call instruction.
const SYSTEM_CALL_BYTES: u64 = 2;

impl Stepper {
    /// Starts `command` and stops it before its first instruction. `clock` returns the stream's
    /// time stamps.
    ///
    /// # Errors
    ///
    /// Fails if the command cannot be started or traced.
    pub fn start(command: &mut Command, writer: Writer, clock: fn() -> u64) -> io::Result<Self> {
        ptrace::trace_child(command);
        let child = command.spawn()?;
        let tracee = Tracee::of_child(child.id())?;
        let code = Code::of_process(child.id())?;
        let ip = tracee.ip()?;
        let mut encoder = Encoder::new(writer, clock);
        encoder.turn_on(ip);
        Ok(Self {
            attached: Attached { tracee, signal: 0, ended: false },
            child,
            code,
            encoder,
            ip,
            after_system_call: false,
            end: None,
            not_send: PhantomData,
        })
    }

    /// Executes the next instruction and returns its address, or `None` if there is none.
    ///
    /// All iterations of a `rep` are one instruction.
    ///
    /// # Errors
    ///
    /// Fails if a system call of ptrace fails.
    pub fn step(&mut self) -> io::Result<Option<u64>> {
        while self.end.is_none() {
            if let Some(executed) = self.step_once()? {
                return Ok(Some(executed));
            }
        }
        Ok(None)
    }

    /// Returns the packets written since the last call.
    #[must_use]
    pub fn take_packets(&mut self) -> Vec<u8> {
        self.encoder.take()
    }

    /// Returns the code that was executed so far: copies of whole pages, made at their first
    /// execution.
    #[must_use]
    pub fn image(&self) -> &Image {
        self.code.image()
    }

    /// Returns the reason why there are no more steps, or `None` before the end.
    #[must_use]
    pub fn end(&self) -> Option<StepEnd> {
        self.end
    }

    /// Returns the process, for its pipes.
    ///
    /// Do not wait for it before [`end`](Self::end) returns its end.
    pub fn child_mut(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Stops tracing and returns the process, which continues.
    #[must_use]
    pub fn detach(self) -> Child {
        self.child
    }

    fn step_once(&mut self) -> io::Result<Option<u64>> {
        let tracee = self.attached.tracee;
        let signal = std::mem::take(&mut self.attached.signal);
        tracee.step(signal)?;
        match tracee.wait()? {
            Stop::Step if signal != 0 => self.stepped_after_signal(),
            Stop::Step => self.stepped(),
            Stop::Handler => {
                self.ip = tracee.ip()?;
                self.encoder.turn_on(self.ip);
                Ok(None)
            }
            Stop::Signal(signal) => self.interrupted(signal),
            Stop::Group => Ok(None),
            Stop::Exec => {
                tracee.detach(0)?;
                Ok(self.ended(StepEnd::Exec))
            }
            Stop::Exited(status) => Ok(self.ended(StepEnd::Exited(status))),
            Stop::Killed(signal) => Ok(self.ended(StepEnd::Killed(signal))),
        }
    }

    /// The instruction at `self.ip` was executed, or an iteration of it.
    fn stepped(&mut self) -> io::Result<Option<u64>> {
        let next = self.attached.tracee.ip()?;
        let executed = self.ip;
        let decoded = self.code.at(executed).map_err(io::Error::other)?;
        if next == executed && decoded.0.kind == InstructionKind::Other {
            return Ok(None);
        }
        self.encoder.turn_on(executed);
        self.encoder.executed(decoded, next);
        self.after_system_call = decoded.0.kind == InstructionKind::Far;
        self.ip = next;
        if self.after_system_call {
            self.encoder.turn_on(next);
        }
        Ok(Some(executed))
    }

    /// A signal without a handler was delivered, and then an instruction was executed: the next
    /// one, or a system call that the signal had interrupted.
    fn stepped_after_signal(&mut self) -> io::Result<Option<u64>> {
        if self.after_system_call && self.attached.tracee.ip()? == self.ip {
            self.ip -= SYSTEM_CALL_BYTES;
        }
        self.stepped()
    }

    /// A signal arrived, before the instruction at `self.ip` or during its execution.
    fn interrupted(&mut self, signal: i32) -> io::Result<Option<u64>> {
        self.attached.signal = signal;
        let executed = match self.attached.tracee.ip()? {
            ip if ip == self.ip => None,
            _ => self.stepped()?,
        };
        self.encoder.turn_off(self.ip);
        Ok(executed)
    }

    /// Execution ended, after a system call or because another thread ended the process.
    fn ended(&mut self, end: StepEnd) -> Option<u64> {
        self.end = Some(end);
        self.attached.ended = true;
        let is_call = |decoded: DecodedInstruction| decoded.0.kind == InstructionKind::Far;
        if !matches!(end, StepEnd::Killed(_)) && self.code.at(self.ip).is_ok_and(is_call) {
            self.encoder.turn_on(self.ip);
            self.encoder.left();
            return Some(self.ip);
        }
        self.encoder.turn_off(self.ip);
        None
    }
}

/// A traced process. It continues when this is dropped.
#[derive(Debug)]
struct Attached {
    tracee: Tracee,
    /// The signal to be delivered next, or 0.
    signal: i32,
    /// Whether the process has ended.
    ended: bool,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if !self.ended {
            // This fails only if the process has ended.
            let _ = self.tracee.detach(self.signal);
        }
    }
}
