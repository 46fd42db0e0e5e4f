//! Collecting of calls.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use trace_analyze::stats::Distribution;

use super::recursion::Recursion;
use super::Stacks;
use crate::calls::{thread_of, Call, CallStacks, End, Step, ThreadKey};
use crate::read::{Item, Ordered, ReadError};
use crate::record::{FunctionId, Record};

/// The most callers and callees of which times are kept.
const MAX_EDGES: usize = 1 << 20;

/// The caller, `None` for calls without one, and the callee.
pub(super) type Edge = (Option<FunctionId>, FunctionId);

/// Records that are not a part of a call, and calls whose end is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls that a caller's exit ended.
    pub unwound: u64,
    /// Calls during which time went back. Their time is 0.
    pub backward: u64,
    /// Calls without an end, which have no time.
    pub open: u64,
    /// Exits without an entry.
    pub no_entry: u64,
    /// Entries and exits beyond the limits of call stacks.
    pub over_limit: u64,
    /// Calls whose caller or stack is not kept, because there are too many.
    pub not_kept: u64,
    /// Errors of the log.
    pub errors: u64,
}

/// Options of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Counts only calls within a call of the same function, and those around one.
    pub recursive_only: bool,
}

/// The calls of a log.
#[derive(Debug, Default)]
pub struct Calls {
    pub(super) functions: BTreeMap<FunctionId, Distribution>,
    pub(super) edges: BTreeMap<Edge, Distribution>,
    stacks: Stacks,
    /// The stacks of open calls, and whether the call has called no function so far.
    open: HashMap<ThreadKey, Vec<(usize, bool)>>,
    counts: Counts,
    /// The rate of the first log.
    rate: Option<u64>,
    /// The open calls of each function, if only recursive ones count.
    recursion: Option<Recursion>,
}

impl Calls {
    /// Reads a log to its end. `damage` gets each error.
    ///
    /// # Errors
    ///
    /// Reading failed.
    pub fn read<R: Read + Seek>(
        log: Ordered<R>,
        damage: impl FnMut(&ReadError),
    ) -> Result<Self, ReadError> {
        Self::read_with(log, Options::default(), damage)
    }

    /// Reads a log to its end, with options. `damage` gets each error.
    ///
    /// # Errors
    ///
    /// Reading failed.
    pub fn read_with<R: Read + Seek>(
        mut log: Ordered<R>,
        options: Options,
        mut damage: impl FnMut(&ReadError),
    ) -> Result<Self, ReadError> {
        let recursion = options.recursive_only.then(Recursion::default);
        let mut calls = Self { recursion, ..Self::default() };
        let mut stacks = CallStacks::default();
        loop {
            match log.next() {
                Ok(Some(item)) => calls.item(&mut stacks, &item),
                Ok(None) => break,
                Err(error @ ReadError::Io { .. }) => return Err(error),
                Err(error) => {
                    calls.counts.errors += error.number();
                    damage(&error);
                }
            }
        }
        for (_, _, stack) in stacks.threads() {
            calls.counts.open += stack.finish().len() as u64;
        }
        Ok(calls)
    }

    /// Returns the stacks of all threads.
    #[must_use]
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Returns the counts of everything but calls.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the ticks per second: the rate of the file's first log, to which the times of other
    /// logs in it are converted. 0 if the file has no records.
    #[must_use]
    pub fn rate(&self) -> u64 {
        self.rate.unwrap_or(0)
    }

    fn item(&mut self, stacks: &mut CallStacks, item: &Item<'_>) {
        let rate = item.header.cycle_frequency;
        let rates = (rate, *self.rate.get_or_insert(rate));
        let Some(step) = stacks.step(item) else { return };
        let thread = thread_of(item);
        match step {
            Step::Entered { .. } => self.enter(thread, item),
            Step::Left(ended) => ended.for_each(|call| self.leave(thread, rates, call)),
            Step::NoEntry => self.counts.no_entry += 1,
            Step::OverLimit => self.counts.over_limit += 1,
        }
    }

    fn enter(&mut self, thread: ThreadKey, item: &Item<'_>) {
        let Record::Function(record) = item.record else { return };
        if let Some(recursion) = &mut self.recursion {
            recursion.enter(thread, record.function);
        }
        let open = self.open.entry(thread).or_default();
        let caller = open.last_mut().map(|(caller, is_leaf)| {
            *is_leaf = false;
            *caller
        });
        open.push((self.stacks.enter(thread.2, caller, record.function), true));
    }

    /// Ends a call of a log whose rate is the first of `rates`. Its time gets the other one.
    fn leave(&mut self, thread: ThreadKey, rates: (u64, u64), call: Call) {
        let open = self.open.get_mut(&thread).and_then(Vec::pop);
        let Some((stack, is_leaf)) = open else { return };
        let counts = |recursion: &mut Recursion| recursion.leave(thread, call.function);
        if !self.recursion.as_mut().is_none_or(counts) {
            return;
        }
        self.counts.unwound += u64::from(call.end == End::Missing);
        self.counts.backward += u64::from(call.left < call.entered);
        let ticks = converted(call.left.saturating_sub(call.entered), rates);
        self.functions.entry(call.function).or_default().add(ticks);
        let caller = self.stacks.caller(stack);
        let has_edge = caller.is_some_and(|caller| self.add_edge((caller, call.function), ticks));
        let is_kept = self.stacks.add(stack, ticks, is_leaf) && has_edge;
        self.counts.not_kept += u64::from(!is_kept);
    }

    /// Adds a call to the times of its caller and callee; returns whether they are kept.
    fn add_edge(&mut self, edge: Edge, ticks: u64) -> bool {
        let is_kept = self.edges.len() < MAX_EDGES || self.edges.contains_key(&edge);
        if is_kept {
            self.edges.entry(edge).or_default().add(ticks);
        }
        is_kept
    }
}

/// Converts a time from one rate to another.
#[inline]
fn converted(ticks: u64, (from, to): (u64, u64)) -> u64 {
    if from == to {
        return ticks;
    }
    // Without a rate, a tick counts as a second, as in LLVM's tools.
    let converted = u128::from(ticks) * u128::from(to.max(1)) / u128::from(from.max(1));
    u64::try_from(converted).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::stacks::NOT_KEPT;
    use super::*;

    #[test]
    fn a_call_without_a_kept_stack_has_no_edge() {
        let mut calls = Calls::default();
        let thread = (1, None, 1);
        calls.open.insert(thread, vec![(NOT_KEPT, true)]);
        let function = FunctionId::new(1).unwrap();
        let call = Call { function, entered: 1, left: 2, depth: 0, end: End::Exit };
        calls.leave(thread, (1, 1), call);
        assert_eq!((calls.edges.len(), calls.counts.not_kept), (0, 1));
    }
}
