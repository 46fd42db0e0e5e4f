//! The parts of an execution that are traced: where they begin and when they end.

use super::ptrace::{Registers, Stop};
use crate::recording::Mapping;
use crate::symbols;

/// The function that the dynamic linker calls when it has mapped or unmapped files, for debuggers.
const LINKER_FUNCTION: &str = "_dl_debug_state";

/// The functions that `trace-runtime` calls when an announced scope begins and when it ends.
const SCOPE_BEGINS: &str = "trace_runtime::point::announce::scope_begins";
const SCOPE_ENDS: &str = "trace_runtime::point::announce::scope_ends";

/// The parts of an execution that are traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedCalls {
    /// What the parts are.
    pub of: Traced,
    /// The number of the only one that is traced, from 1 on, or `None` for all. Those of all
    /// threads and processes count, also one inside of another. What begins inside of a traced
    /// part belongs to it. After the only one all threads are released.
    pub nth: Option<u64>,
}

/// What is traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traced {
    /// The calls of the function with this demangled name, in any file of a process.
    Function(String),
    /// The scopes that `trace-runtime` announces: those of the trace points that a session has
    /// armed.
    Scopes,
}

impl Traced {
    /// Returns the function with which a part begins.
    fn begin(&self) -> &str {
        match self {
            Self::Function(name) => name,
            Self::Scopes => SCOPE_BEGINS,
        }
    }
}

/// The traced calls of a tracer.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) traced: TracedCalls,
    pub(super) count: u64,
    /// Whether a process has had the function.
    pub(super) is_found: bool,
}

/// Where the threads of an address space stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Nowhere,
    /// Where the dynamic linker has mapped files, one of which may have the function.
    Linker(u64),
    Function(u64),
}

/// The search for the function in an address space.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) traced: Option<Traced>,
    pub(super) place: Place,
    /// The function with which scopes end.
    pub(super) end: Option<u64>,
}

/// The state of a thread that is traced in the function only.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The address of its breakpoint.
    pub(super) breakpoint: Option<u64>,
    /// The call in which it is traced.
    pub(super) call: Option<Call>,
}

/// A part of the execution of a thread that is traced.
#[derive(Debug)]
pub(super) enum Call {
    Frame(Frame),
    Scopes {
        begin: u64,
        end: Option<u64>,
        /// The number of open scopes.
        depth: u32,
    },
}

/// The frame of a call.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) return_to: Option<u64>,
    /// The stack pointer behind the call, which is where the return address is.
    pub(super) sp: u64,
    /// The end of the stack.
    pub(super) stack_end: Option<u64>,
    /// Whether a signal handler uses another stack.
    pub(super) is_elsewhere: bool,
}

impl Search {
    /// Looks for the function, and else for the dynamic linker, in a new mapping.
    pub(super) fn add(&mut self, mapping: &Mapping) {
        let Some(traced) = &self.traced else { return };
        if matches!(self.place, Place::Function(_)) {
            return;
        }
        if let Some((start, _)) = symbols::find(mapping, traced.begin()) {
            self.place = Place::Function(start);
            self.end = symbols::find(mapping, SCOPE_ENDS).map(|(start, _)| start);
        } else if is_linker(&mapping.path) {
            let found = symbols::find(mapping, LINKER_FUNCTION);
            self.place = found.map_or(self.place, |(start, _)| Place::Linker(start));
        }
    }

    /// Returns where threads stop.
    pub(super) fn address(&self) -> Option<u64> {
        match self.place {
            Place::Nowhere => None,
            Place::Linker(address) | Place::Function(address) => Some(address),
        }
    }
}

/// Returns whether a file may be a dynamic linker, such as `ld-linux-x86-64.so.2`.
fn is_linker(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|file| file.starts_with("ld"))
}

impl Watch {
    /// Returns whether the thread is in a traced call.
    pub(super) fn is_inside(&self) -> bool {
        self.call.is_some()
    }
}

impl Call {
    /// A stop of the thread, which has `entered_kernel` if the last instruction was a system call,
    /// such as the return from a signal handler. Returns whether the part has ended.
    pub(super) fn stopped(
        &mut self,
        stop: Stop,
        registers: &Registers,
        entered_kernel: bool,
    ) -> bool {
        match self {
            Self::Frame(frame) => {
                frame.stopped(stop, registers.sp);
                frame.is_over(registers.ip, registers.sp)
            }
            Self::Scopes { begin, end, depth } => {
                // A handler that interrupts the thread at such an address returns to it.
                let is_called = stop == Stop::Step && !entered_kernel;
                let executes = |at: u64| is_called && registers.ip == at;
                *depth += u32::from(executes(*begin));
                *depth -= u32::from(*depth > 0 && end.is_some_and(executes));
                *depth == 0
            }
        }
    }
}

impl Frame {
    /// A stop of the thread. A handler above the frame uses another stack, which may be a part of
    /// the same mapping.
    fn stopped(&mut self, stop: Stop, sp: u64) {
        let is_above = sp > self.sp;
        let begins = stop == Stop::Handler && self.has_below_end(sp);
        self.is_elsewhere = is_above && (self.is_elsewhere || begins);
    }

    fn has_below_end(&self, sp: u64) -> bool {
        self.stack_end.is_some_and(|end| sp < end)
    }

    /// Returns whether the frame is gone: the call has returned, or was left by unwinding.
    fn is_over(&self, ip: u64, sp: u64) -> bool {
        if sp <= self.sp {
            return false;
        }
        self.return_to == Some(ip) || self.has_below_end(sp) && !self.is_elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_with_its_frame() {
        let mut call = Frame {
            return_to: Some(0x100),
            sp: 0x8000,
            stack_end: Some(0x9000),
            is_elsewhere: false,
        };
        assert!(!call.is_over(0x100, 0x7000), "a call of the function by itself returns");
        assert!(!call.is_over(0x100, 0x8000) && !call.is_over(0x50, 0x7ff8));
        assert!(call.is_over(0x100, 0x8008), "it returns");
        assert!(call.is_over(0x200, 0x8008), "it is unwound");
        assert!(!call.is_over(0x200, 0x9000), "another stack");
        call.is_elsewhere = true;
        assert!(!call.is_over(0x200, 0x8008), "a handler");
        (call.return_to, call.stack_end) = (None, None);
        assert!(!call.is_over(0x200, 0x8008));
    }

    #[test]
    fn a_call_ends_by_a_jump_out_of_a_handler_on_another_stack() {
        let mut call = Frame {
            return_to: Some(0x100),
            sp: 0x8000,
            stack_end: Some(0x9000),
            is_elsewhere: false,
        };
        let mut is_over = |stop, sp| {
            call.stopped(stop, sp);
            call.is_over(0x200, sp)
        };
        assert!(!is_over(Stop::Handler, 0xa000) && !is_over(Stop::Step, 0x9ff8), "the handler");
        assert!(is_over(Stop::Step, 0x8008), "it is left");
        assert!(!is_over(Stop::Handler, 0x8800), "the other stack is in the same mapping");
        assert!(!is_over(Stop::Step, 0x87f8) && !is_over(Stop::Step, 0x7000));
        assert!(is_over(Stop::Step, 0x8008), "it has returned, and then the call is left");
    }

    #[test]
    fn dynamic_linkers_have_their_names() {
        assert!(is_linker("/lib64/ld-linux-x86-64.so.2") && is_linker("/lib/ld-musl-x86_64.so.1"));
        assert!(!is_linker("/lib/libc.so.6") && !is_linker("") && !is_linker("[vdso]"));
    }
}
