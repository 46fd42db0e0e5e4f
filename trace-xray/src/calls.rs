//! Calls and call stacks from function records.
//!
//! A log has entries and exits, and some of them may be missing: recording started or ended within
//! a function, a thread buffer was lost, a function ended by unwinding or never, or the writer
//! removed short calls (LLVM's runtime calls it rewinding). A [`CallStack`] has the open calls of
//! one thread, [`CallStacks`] those of all threads.
//!
//! | record | result |
//! |---|---|
//! | entry | a call is opened |
//! | exit of the innermost call | it is closed |
//! | exit of another open call | the calls within it are closed with [`End::Missing`], then it |
//! | exit of a function without an open call | [`Step::NoEntry`]; open calls stay open |
//! | tail exit | as an exit: the function ends where it jumps, and its callee is a call of its caller |
//! | no more records | [`CallStack::finish`] closes the open calls with [`End::Open`] |
//!
//! The records of a thread must be in the order of their times. They are not if LLVM's runtime has
//! reused thread buffers: read such a log with [`Ordered`](crate::read::Ordered).

mod open;

use std::collections::HashMap;
use std::vec::Drain;

use open::Open;

use crate::layout::Action;
use crate::read::Item;
use crate::record::{FunctionId, FunctionRecord, Record};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The function returned.
    Exit,
    /// The function jumped to another one.
    TailExit,
    /// The function has no exit, but one of its callers has.
    Missing,
    /// Neither the function nor any of its callers has an exit.
    Open,
}

/// A call that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: FunctionId,
    /// The time of the entry in ticks.
    pub entered: u64,
    /// The time of the end in ticks. Without an exit it is that of the caller's exit, or of the
    /// thread's last record.
    pub left: u64,
    /// The number of open calls around it.
    pub depth: usize,
    /// How it ended.
    pub end: End,
}

/// The effect of a function record.
#[derive(Debug)]
pub enum Step<'a> {
    /// A call was opened.
    Entered {
        /// The number of open calls around it.
        depth: usize,
    },
    /// Calls ended, the innermost one first.
    Left(Ended<'a>),
    /// The function has no open call.
    NoEntry,
    /// There are too many open calls or threads. The record is ignored.
    OverLimit,
}

/// The limits of call stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most open calls of a thread; 65,536 by default.
    pub depth: usize,
    /// The most threads; 65,536 by default.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 1 << 16, threads: 1 << 16 }
    }
}

/// The number of the log, the process, if it is known, and the thread.
pub(crate) type ThreadKey = (u32, Option<i32>, i32);

/// Returns the thread of a record.
#[inline]
pub(crate) fn thread_of(item: &Item<'_>) -> ThreadKey {
    (item.buffer.log, item.buffer.process, item.buffer.thread)
}

/// The open calls of all threads.
#[derive(Debug, Default)]
pub struct CallStacks {
    stacks: Vec<(ThreadKey, CallStack)>,
    places: HashMap<ThreadKey, usize>,
    /// The index of the last record's thread, because successive records are often of one thread.
    last: usize,
    limits: Limits,
}

impl CallStacks {
    /// Starts with limits other than the default ones.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Applies a record of a log; returns `None` if it is no function record.
    #[inline]
    pub fn step(&mut self, item: &Item<'_>) -> Option<Step<'_>> {
        let Record::Function(function) = item.record else { return None };
        let thread = thread_of(item);
        if self.stacks.get(self.last).is_none_or(|(last, _)| *last != thread) {
            match self.place(thread) {
                Some(place) => self.last = place,
                None => return Some(Step::OverLimit),
            }
        }
        let (_, stack) = self.stacks.get_mut(self.last)?;
        Some(stack.step(item.tsc(), function))
    }

    /// Returns the index of a thread's stack, which is added if it is new.
    fn place(&mut self, thread: ThreadKey) -> Option<usize> {
        let next = self.stacks.len();
        if let Some(place) = self.places.get(&thread) {
            return Some(*place);
        }
        if next >= self.limits.threads {
            return None;
        }
        self.places.insert(thread, next);
        self.stacks.push((thread, CallStack::with_limit(self.limits.depth)));
        Some(next)
    }

    /// Returns the stacks with their processes and threads, in the order of their first records.
    /// Each log of a file has threads of its own.
    pub fn threads(&mut self) -> impl Iterator<Item = (Option<i32>, i32, &mut CallStack)> {
        self.stacks.iter_mut().map(|((_, process, thread), stack)| (*process, *thread, stack))
    }
}

/// The open calls of a thread.
///
/// # Examples
///
/// ```
/// use trace_xray::calls::{CallStack, End, Step};
/// use trace_xray::layout::Action;
/// use trace_xray::{FunctionId, FunctionRecord};
///
/// let function = FunctionId::new(1).unwrap();
/// let record = |action| FunctionRecord { action, function, delta: 0 };
/// let mut stack = CallStack::default();
/// stack.step(100, record(Action::Entry));
/// let Step::Left(calls) = stack.step(130, record(Action::Exit)) else { panic!() };
/// let calls: Vec<_> = calls.collect();
/// assert_eq!((calls[0].entered, calls[0].left, calls[0].end), (100, 130, End::Exit));
/// ```
#[derive(Debug)]
pub struct CallStack {
    open: Open,
    limit: usize,
    /// The number of open calls of each function that are not in `open` because of the limit.
    beyond: HashMap<FunctionId, u64>,
    /// The time of the last record.
    last: u64,
}

/// An open call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// The time of the entry in ticks.
    pub entered: u64,
}

impl Default for CallStack {
    fn default() -> Self {
        Self::with_limit(Limits::default().depth)
    }
}

impl CallStack {
    /// Starts with a limit other than the default one.
    #[must_use]
    pub fn with_limit(depth: usize) -> Self {
        Self { open: Open::default(), limit: depth, beyond: HashMap::new(), last: 0 }
    }

    /// Returns the open calls, the outermost one first.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        self.open.frames()
    }

    /// Applies a function record at a time in ticks. Calls that end are removed, also if the
    /// result is not read.
    #[inline]
    pub fn step(&mut self, tsc: u64, record: FunctionRecord) -> Step<'_> {
        self.last = tsc;
        match record.action {
            Action::Entry | Action::EntryArgs => self.enter(tsc, record.function),
            Action::Exit => self.leave(tsc, record.function, End::Exit),
            Action::TailExit => self.leave(tsc, record.function, End::TailExit),
        }
    }

    /// Closes all open calls, at the time of the last record.
    pub fn finish(&mut self) -> Ended<'_> {
        self.beyond.clear();
        Ended {
            base: 0,
            left: self.last,
            end: End::Open,
            inner: End::Open,
            frames: self.open.drain(0),
        }
    }

    fn enter(&mut self, tsc: u64, function: FunctionId) -> Step<'_> {
        let depth = self.open.frames().len();
        if depth >= self.limit {
            *self.beyond.entry(function).or_default() += 1;
            return Step::OverLimit;
        }
        self.open.push(Frame { function, entered: tsc });
        Step::Entered { depth }
    }

    fn leave(&mut self, tsc: u64, function: FunctionId, end: End) -> Step<'_> {
        if !self.beyond.is_empty() && self.leave_beyond(function) {
            return Step::OverLimit;
        }
        let Some(base) = self.open.find(function) else { return Step::NoEntry };
        // Calls beyond the limit are within all others.
        self.beyond.clear();
        let frames = self.open.drain(base);
        Step::Left(Ended { base, left: tsc, end, inner: End::Missing, frames })
    }

    /// Removes a call beyond the limit; returns whether the function has one. Their order is not
    /// known: those within it stay until a call within the limit ends.
    #[cold]
    fn leave_beyond(&mut self, function: FunctionId) -> bool {
        let Some(calls) = self.beyond.get_mut(&function) else { return false };
        *calls -= 1;
        if *calls == 0 {
            self.beyond.remove(&function);
        }
        true
    }
}

/// Calls that ended, the innermost one first.
#[derive(Debug)]
pub struct Ended<'a> {
    /// The depth of the outermost one.
    base: usize,
    left: u64,
    /// The end of the outermost one.
    end: End,
    /// The end of the inner ones.
    inner: End,
    frames: Drain<'a, Frame>,
}

impl Iterator for Ended<'_> {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        let Frame { function, entered } = self.frames.next_back()?;
        let around = self.frames.len();
        let end = if around == 0 { self.end } else { self.inner };
        Some(Call { function, entered, left: self.left, depth: self.base + around, end })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.frames.size_hint()
    }
}

impl ExactSizeIterator for Ended<'_> {}
