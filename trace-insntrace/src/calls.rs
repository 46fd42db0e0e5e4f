//! The calls of a trace.
//!
//! A stack is kept from calls and returns. Code that leaves functions in another way (tail calls,
//! `longjmp`, unwinding, signal handlers) is recognized by the function at its target. Calls that
//! the compiler has inlined are those of each instruction, by the debug information.

use std::collections::HashMap;
use std::sync::Arc;

use crate::flow::{Event, Instruction, InstructionKind, Item};
use crate::pt::Packet;
use crate::recording::SpaceId;
use crate::symbols::{Function, InlinedCall, Symbols};

/// The name of the time between a system call and its return.
pub const KERNEL: &str = "[kernel]";

/// A change of the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The time.
    pub ticks: u64,
    /// The name of the function that begins, or `None` if the innermost one ends.
    pub enter: Option<Arc<str>>,
    /// Whether the call was inlined.
    pub is_inlined: bool,
}

/// The inlined calls at an address, the outermost first.
type Inlined = Arc<[InlinedCall]>;

/// The stack of functions of a thread.
#[derive(Debug)]
pub struct Calls<'s, 'a> {
    symbols: &'s mut Symbols<'a>,
    functions: HashMap<(SpaceId, u64), Arc<Function>>,
    inlined: HashMap<(SpaceId, u64), Inlined>,
    /// Whether the files of functions have debug information, by their begin.
    may_inline: HashMap<(SpaceId, u64), bool>,
    /// No inlined calls.
    none: Inlined,
    kernel: Arc<Function>,
    space: Option<SpaceId>,
    /// The number of notes before the last item.
    notes: usize,
    /// The number of replaced mappings for which the maps are, and of notes for which it is known.
    replaced: usize,
    checked: Option<(SpaceId, usize)>,
    stack: Vec<Frame>,
    last: Option<(Instruction, u64)>,
    off: Option<Off>,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Frame {
    function: Arc<Function>,
    /// Whether the file has debug information.
    may_inline: bool,
    inlined: Inlined,
    return_to: Option<u64>,
    is_handler: bool,
}

/// Why tracing is off.
#[derive(Debug, Clone, Copy)]
enum Off {
    /// In a system call, with this address behind it.
    SystemCall(u64),
    /// Before the instruction at this address.
    Interrupted(u64),
    /// Outside the traced addresses.
    Outside,
}

/// How far the kernel moves a thread back that executes a system call again.
const SYSTEM_CALL_BYTES: u64 = 2;

impl<'s, 'a> Calls<'s, 'a> {
    /// Creates an empty stack.
    pub fn new(symbols: &'s mut Symbols<'a>) -> Self {
        let kernel = Function { start: 0, end: 0, name: KERNEL.into(), file: "".into() };
        Self {
            symbols,
            functions: HashMap::new(),
            inlined: HashMap::new(),
            may_inline: HashMap::new(),
            none: [].into(),
            kernel: Arc::new(kernel),
            space: None,
            notes: 0,
            replaced: 0,
            checked: None,
            stack: Vec::new(),
            last: None,
            off: None,
            changes: Vec::new(),
        }
    }

    /// Returns the changes of the stack before an item, which was executed in `space` at `ticks`,
    /// after so many notes.
    pub fn item(
        &mut self,
        space: Option<SpaceId>,
        notes: usize,
        item: &Item,
        ticks: u64,
    ) -> &[Change] {
        self.changes.clear();
        if self.space != space {
            self.end_all(ticks);
            self.space = space;
        }
        self.notes = notes;
        match item {
            Item::Instruction(instruction) => self.instruction(*instruction, ticks),
            Item::Event(event) => self.event(event, ticks),
        }
        &self.changes
    }

    /// Returns the changes that end all functions.
    pub fn end(&mut self, ticks: u64) -> &[Change] {
        self.changes.clear();
        self.end_all(ticks);
        &self.changes
    }

    fn end_all(&mut self, ticks: u64) {
        self.arrive_interrupted();
        self.pop_to(0, ticks);
        (self.last, self.off) = (None, None);
    }

    fn instruction(&mut self, instruction: Instruction, ticks: u64) {
        let ip = instruction.ip;
        match self.last.replace((instruction, ticks)) {
            Some((last, at)) => self.branched(last, ip, at),
            None if self.stack.is_empty() => self.enter(ip, None, ticks),
            None => {}
        }
        self.inline(ip, ticks);
    }

    /// Makes the calls that are inlined at `ip` the innermost ones.
    fn inline(&mut self, ip: u64, ticks: u64) {
        if !self.stack.last().is_some_and(|top| top.may_inline) {
            return;
        }
        let inlined = self.inlined_at(ip);
        let Some(top) = self.stack.last_mut() else { return };
        let both = top.inlined.iter().zip(&*inlined);
        let same = both.take_while(|(former, call)| former == call).count();
        let ended = top.inlined.len() - same;
        top.inlined = Arc::clone(&inlined);
        self.changes.extend((0..ended).map(|_| Change::end(ticks)));
        let begun = inlined.iter().skip(same);
        self.changes.extend(begun.map(|call| Change::begin(ticks, &call.name, true)));
    }

    /// Execution continued at `ip` after the instruction `last`.
    fn branched(&mut self, last: Instruction, ip: u64, ticks: u64) {
        let next = last.ip.wrapping_add(last.length.into());
        match last.kind {
            // A call of the next instruction reads the instruction pointer.
            InstructionKind::Call | InstructionKind::IndirectCall if ip != next => {
                self.enter(ip, Some(next), ticks);
            }
            InstructionKind::Return => self.returned(ip, ticks),
            InstructionKind::Jump
            | InstructionKind::Conditional
            | InstructionKind::IndirectJump => {
                self.jumped(ip, ticks);
            }
            _ => {}
        }
    }

    fn returned(&mut self, ip: u64, ticks: u64) {
        let called = self.stack.iter().rposition(|frame| frame.return_to == Some(ip));
        self.pop_to(called.unwrap_or(self.stack.len().saturating_sub(1)), ticks);
        // Below a function that was called is its caller, whatever the symbols at `ip` are.
        if called.is_none() || self.stack.is_empty() {
            self.locate(ip, ticks);
        }
    }

    fn jumped(&mut self, ip: u64, ticks: u64) {
        let Some(top) = self.stack.last() else { return };
        if (top.function.start..top.function.end).contains(&ip) {
            return;
        }
        let (top, return_to) = (Arc::clone(&top.function), top.return_to);
        let function = self.function(ip);
        if is_part_of(&function, &top) || self.pop_to_function(&function, ip, ticks) {
            return;
        }
        // A tail call.
        self.pop_to(self.stack.len() - 1, ticks);
        self.push(function, return_to, ticks);
    }

    /// Makes the function at `ip` the innermost one: by leaving functions, or as a new one.
    fn locate(&mut self, ip: u64, ticks: u64) {
        let function = self.function(ip);
        let is_top = self.stack.last().is_some_and(|top| is_part_of(&function, &top.function));
        let is_continued = is_top && !is_entry(&function, ip);
        if !is_continued && !self.pop_to_function(&function, ip, ticks) {
            self.push(function, None, ticks);
        }
    }

    /// Leaves the functions inside `function`, if it is on the stack and does not begin at `ip`.
    fn pop_to_function(&mut self, function: &Function, ip: u64, ticks: u64) -> bool {
        let same = |frame: &Frame| is_part_of(function, &frame.function);
        let found = self.stack.iter().rposition(same).filter(|_| ip != function.start);
        if let Some(index) = found {
            self.pop_to(index + 1, ticks);
        }
        found.is_some()
    }

    fn event(&mut self, event: &Event, ticks: u64) {
        match *event {
            Event::Synchronized { .. } | Event::Overflow { .. } => self.end_all(ticks),
            // A part of the execution ends. Where the next instruction would be is not in it.
            Event::Packet { packet: Packet::TraceStop, .. } => {
                self.last = None;
                self.end_all(ticks);
            }
            Event::Enabled { ip } => {
                self.arrive_interrupted();
                self.enabled(ip, ticks);
            }
            Event::Disabled { to } => self.disabled(to, ticks),
            Event::Interrupted { from, disabled: true, .. } => {
                self.off = Some(Off::Interrupted(from));
            }
            Event::Interrupted { from, to, .. } => {
                self.arrive(from);
                if let Some(to) = to {
                    self.enter_handler(to, from, ticks);
                }
            }
            Event::Packet { .. } => {}
        }
    }

    /// The last instruction was followed by that at `ip`, which was not executed yet.
    fn arrive(&mut self, ip: u64) {
        if let Some((last, at)) = self.last.take() {
            self.branched(last, ip, at);
        }
    }

    /// If tracing is off because of an interrupt, the last instruction was followed by its place.
    fn arrive_interrupted(&mut self) {
        if let Some(Off::Interrupted(from)) = self.off {
            self.arrive(from);
        }
    }

    fn disabled(&mut self, to: Option<u64>, ticks: u64) {
        let Some((last, at)) = self.last.take() else { return };
        match (last.kind, to) {
            (InstructionKind::Far, _) => {
                let next = last.ip.wrapping_add(last.length.into());
                self.off = Some(Off::SystemCall(next));
                self.push(Arc::clone(&self.kernel), None, ticks);
            }
            (InstructionKind::Return, _) => {
                self.off = Some(Off::Outside);
                self.pop_to(self.stack.len().saturating_sub(1), at);
            }
            _ => self.off = Some(Off::Outside),
        }
    }

    fn enabled(&mut self, ip: u64, ticks: u64) {
        match self.off.take() {
            Some(Off::SystemCall(next)) => {
                self.pop_to(self.stack.len().saturating_sub(1), ticks);
                if ip != next {
                    self.return_from_handler(ip, ticks);
                }
            }
            Some(Off::Interrupted(from)) if from == ip => {}
            Some(Off::Interrupted(from)) if from.wrapping_sub(SYSTEM_CALL_BYTES) == ip => {}
            Some(Off::Interrupted(from)) => self.enter_handler(ip, from, ticks),
            Some(Off::Outside) => self.locate(ip, ticks),
            None if self.stack.is_empty() => self.enter(ip, None, ticks),
            None => {}
        }
    }

    fn enter_handler(&mut self, ip: u64, from: u64, ticks: u64) {
        self.enter(ip, Some(from), ticks);
        if let Some(frame) = self.stack.last_mut() {
            frame.is_handler = true;
        }
    }

    /// A system call returned elsewhere: from a signal handler to `ip`, in most cases.
    fn return_from_handler(&mut self, ip: u64, ticks: u64) {
        let again = ip.wrapping_add(SYSTEM_CALL_BYTES);
        let is_left =
            |frame: &Frame| frame.is_handler && [Some(ip), Some(again)].contains(&frame.return_to);
        match self.stack.iter().rposition(is_left) {
            Some(index) => self.pop_to(index, ticks),
            None => self.locate(ip, ticks),
        }
    }

    fn enter(&mut self, ip: u64, return_to: Option<u64>, ticks: u64) {
        let function = self.function(ip);
        self.push(function, return_to, ticks);
    }

    fn push(&mut self, function: Arc<Function>, return_to: Option<u64>, ticks: u64) {
        self.changes.push(Change::begin(ticks, &function.name, false));
        let may_inline = self.may_inline(function.start);
        self.stack.push(Frame {
            function,
            may_inline,
            inlined: Arc::clone(&self.none),
            return_to,
            is_handler: false,
        });
    }

    fn pop_to(&mut self, depth: usize, ticks: u64) {
        for frame in self.stack.drain(depth..).rev() {
            let ended = 0..=frame.inlined.len();
            self.changes.extend(ended.map(|_| Change::end(ticks)));
        }
    }

    fn function(&mut self, ip: u64) -> Arc<Function> {
        let (space, notes) = self.check_replaced();
        let (functions, symbols) = (&mut self.functions, &mut *self.symbols);
        let found = functions.entry((space, ip));
        Arc::clone(found.or_insert_with(|| Arc::new(symbols.function(space, notes, ip))))
    }

    fn may_inline(&mut self, ip: u64) -> bool {
        if !self.symbols.has_inlined() {
            return false;
        }
        let (space, notes) = self.check_replaced();
        let (known, symbols) = (&mut self.may_inline, &mut *self.symbols);
        let known = known.entry((space, ip));
        *known.or_insert_with(|| symbols.has_debug_info(space, notes, ip))
    }

    fn inlined_at(&mut self, ip: u64) -> Inlined {
        let (space, notes) = self.check_replaced();
        let (inlined, symbols) = (&mut self.inlined, &mut *self.symbols);
        let found = inlined.entry((space, ip));
        Arc::clone(found.or_insert_with(|| symbols.inlined(space, notes, ip).into()))
    }

    /// Forgets the functions of former mappings. Returns the address space and the number of notes.
    fn check_replaced(&mut self) -> (SpaceId, usize) {
        let now = (self.space.unwrap_or(SpaceId(0)), self.notes);
        if self.checked.replace(now) != Some(now) {
            let replaced = self.symbols.replaced(now.0, now.1);
            if std::mem::replace(&mut self.replaced, replaced) != replaced {
                self.functions.clear();
                self.inlined.clear();
                self.may_inline.clear();
            }
        }
        now
    }
}

impl Change {
    fn begin(ticks: u64, name: &Arc<str>, is_inlined: bool) -> Self {
        Self { ticks, enter: Some(Arc::clone(name)), is_inlined }
    }

    fn end(ticks: u64) -> Self {
        Self { ticks, enter: None, is_inlined: false }
    }
}

/// Returns whether `function` begins at `ip`. Where code without a symbol begins is unknown.
fn is_entry(function: &Function, ip: u64) -> bool {
    ip == function.start && !is_unnamed(function)
}

/// Returns whether it is code without a symbol.
fn is_unnamed(function: &Function) -> bool {
    function.end - function.start <= 1
}

/// Returns whether `function` is `whole`, its cold part, or code without a symbol beside it.
fn is_part_of(function: &Function, whole: &Function) -> bool {
    let stem = |function: &'_ Function| function.name.trim_end_matches(".cold").len();
    let same_name = function.name.get(..stem(function)) == whole.name.get(..stem(whole));
    function.file == whole.file && (same_name || is_unnamed(function) && is_unnamed(whole))
}

#[cfg(test)]
mod tests;
