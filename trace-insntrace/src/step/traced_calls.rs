//! The parts of an execution that are traced: where they begin and when they end.

use std::collections::HashMap;
use std::io;

use super::ptrace::{self, Breakpoints, Registers, Stop, Tid};
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
    /// Whether the processor's breakpoints are used. Without them, also if the kernel refuses them,
    /// threads make single steps between the parts.
    pub has_breakpoints: bool,
}

/// What is traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traced {
    /// The calls of the functions of this name, in any file of a process. Several functions can
    /// have one name, such as the instances of a generic one.
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

/// The most functions of an address space that are watched: the processor has four breakpoints, and
/// one is at the dynamic linker.
const MAX_FUNCTIONS: usize = 3;

/// The traced calls of a tracer.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) traced: TracedCalls,
    pub(super) count: u64,
    /// Whether a process has had the function.
    pub(super) is_found: bool,
    /// The most functions of an address space that were not watched.
    pub(super) unwatched: usize,
    /// Whether a process has had an indirect function of the name.
    pub(super) has_indirect: bool,
    /// Sets the processor's breakpoints of a stopped thread.
    pub(super) set_breakpoints: fn(Tid, &Breakpoints) -> io::Result<()>,
    /// Why there are no breakpoints. Threads make single steps then.
    pub(super) refusal: Option<io::Error>,
    /// What the mappings of all address spaces have.
    known: HashMap<Mapping, Found>,
}

/// What a mapping has.
#[derive(Debug, Clone, Default)]
struct Found {
    /// The dynamic linker's function.
    linker: Option<u64>,
    functions: Vec<Part>,
    /// Whether there is an indirect function of the name.
    is_indirect: bool,
}

/// The function with which a part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) begin: u64,
    /// The function with which scopes end.
    pub(super) end: Option<u64>,
}

/// Where the threads of an address space stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Where the dynamic linker has mapped or unmapped files, which may have the function.
    pub(super) linker: Option<u64>,
    pub(super) functions: Vec<Part>,
}

/// The state of a thread that is traced in the function only.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Its breakpoints.
    pub(super) breakpoints: Breakpoints,
    /// Whether it makes single steps that are not traced.
    pub(super) is_skipping: bool,
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

impl Calls {
    pub(super) fn new(traced: TracedCalls) -> Self {
        Self {
            set_breakpoints: match traced.has_breakpoints {
                true => ptrace::set_breakpoints,
                false => |_, _| Err(io::ErrorKind::Unsupported.into()),
            },
            traced,
            count: 0,
            is_found: false,
            unwatched: 0,
            has_indirect: false,
            refusal: None,
            known: HashMap::new(),
        }
    }

    /// Returns where the threads of an address space with these mappings stop.
    pub(super) fn places<'a>(&mut self, mappings: impl Iterator<Item = &'a Mapping>) -> Places {
        let (mut places, mut has_indirect) = (Places::default(), false);
        for mapping in mappings {
            let found = match self.known.get(mapping) {
                Some(found) => found,
                None => self.find(mapping),
            };
            places.linker = places.linker.or(found.linker);
            places.functions.extend(&found.functions);
            has_indirect |= found.is_indirect;
        }
        self.has_indirect |= has_indirect;
        self.is_found |= !places.functions.is_empty();
        self.unwatched = self.unwatched.max(places.functions.len().saturating_sub(MAX_FUNCTIONS));
        places.functions.truncate(MAX_FUNCTIONS);
        places
    }

    fn find(&mut self, mapping: &Mapping) -> &Found {
        let functions = symbols::find(mapping, self.traced.of.begin());
        // The functions of scopes of one library are in the same order.
        let ends = match self.traced.of {
            Traced::Scopes => starts(mapping, SCOPE_ENDS),
            Traced::Function(_) => Vec::new(),
        };
        let mut ends = ends.into_iter();
        let begins = functions.addresses.iter().map(|(begin, _)| *begin);
        let linker = is_linker(&mapping.path).then(|| starts(mapping, LINKER_FUNCTION));
        let found = Found {
            linker: linker.and_then(|linker| linker.first().copied()),
            functions: begins.map(|begin| Part { begin, end: ends.next() }).collect(),
            is_indirect: functions.is_indirect,
        };
        self.known.entry(mapping.clone()).or_insert(found)
    }
}

fn starts(mapping: &Mapping, name: &str) -> Vec<u64> {
    symbols::find(mapping, name).addresses.into_iter().map(|(start, _)| start).collect()
}

impl Places {
    /// Returns the part that begins at an address.
    pub(super) fn part(&self, address: u64) -> Option<Part> {
        self.functions.iter().find(|part| part.begin == address).copied()
    }

    pub(super) fn breakpoints(&self) -> Breakpoints {
        let mut addresses = self.functions.iter().map(|part| part.begin);
        [addresses.next(), self.linker, addresses.next(), addresses.next()]
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
    fn three_functions_and_the_linker_have_breakpoints() {
        let traced =
            TracedCalls { of: Traced::Function("f".into()), nth: None, has_breakpoints: true };
        let mut calls = Calls::new(traced);
        let mapping =
            |address| Mapping { address, size: 16, offset: 0, path: String::new(), build_id: None };
        let places = |calls: &mut Calls, addresses: &[u64]| {
            let mappings: Vec<_> = addresses.iter().copied().map(mapping).collect();
            calls.places(mappings.iter())
        };
        assert_eq!(places(&mut calls, &[0]), Places::default());
        assert!(!calls.is_found);
        for address in 1..5 {
            let functions = vec![Part { begin: address, end: None }];
            calls.known.insert(mapping(address), Found { functions, ..Found::default() });
        }
        calls.known.insert(mapping(9), Found { linker: Some(9), ..Found::default() });
        let breakpoints = |calls: &mut Calls, of: &[u64]| places(calls, of).breakpoints();
        assert_eq!(breakpoints(&mut calls, &[9]), [None, Some(9), None, None]);
        assert!(!calls.is_found);
        let three = [Some(1), Some(9), Some(2), Some(3)];
        assert_eq!(breakpoints(&mut calls, &[1, 9, 2, 3]), three);
        assert!(calls.is_found && calls.unwatched == 0);
        assert_eq!(breakpoints(&mut calls, &[1, 9, 2, 3, 4]), three);
        assert_eq!(breakpoints(&mut calls, &[4]), [Some(4), None, None, None]);
        assert_eq!(calls.unwatched, 1);
    }

    #[test]
    fn dynamic_linkers_have_their_names() {
        assert!(is_linker("/lib64/ld-linux-x86-64.so.2") && is_linker("/lib/ld-musl-x86_64.so.1"));
        assert!(!is_linker("/lib/libc.so.6") && !is_linker("") && !is_linker("[vdso]"));
    }
}
