//! Collecting of calls.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use trace_analyze::stats::Distribution;

use super::Stacks;
use crate::calls::{Call, CallStacks, End, Step};
use crate::read::{Item, Ordered, ReadError};
use crate::record::{FunctionId, Record};

/// The most callers and callees of which times are kept.
const MAX_EDGES: usize = 1 << 20;

/// The process, if it is known, and the thread.
type ThreadKey = (Option<i32>, i32);

/// The caller, `None` for calls without one, and the callee.
pub(super) type Edge = (Option<FunctionId>, FunctionId);

/// Records that are not a part of a call, and calls whose end is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls that a caller's exit ended.
    pub unwound: u64,
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

/// The calls of a log.
#[derive(Debug, Default)]
pub struct Calls {
    pub(super) functions: BTreeMap<FunctionId, Distribution>,
    pub(super) edges: BTreeMap<Edge, Distribution>,
    stacks: Stacks,
    /// The stacks of open calls, and whether the call has called no function so far.
    open: HashMap<ThreadKey, Vec<(usize, bool)>>,
    counts: Counts,
    rate: u64,
}

impl Calls {
    /// Reads a log to its end. `damage` gets each error.
    ///
    /// # Errors
    ///
    /// Reading failed.
    pub fn read<R: Read + Seek>(
        mut log: Ordered<R>,
        mut damage: impl FnMut(&ReadError),
    ) -> Result<Self, ReadError> {
        let (mut calls, mut stacks) = (Self::default(), CallStacks::default());
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

    /// Returns the ticks per second.
    #[must_use]
    pub fn rate(&self) -> u64 {
        self.rate
    }

    fn item(&mut self, stacks: &mut CallStacks, item: &Item<'_>) {
        if self.rate == 0 {
            self.rate = item.header.cycle_frequency;
        }
        let Some(step) = stacks.step(item) else { return };
        let thread = (item.buffer.process, item.buffer.thread);
        match step {
            Step::Entered { .. } => self.enter(thread, item),
            Step::Left(ended) => ended.for_each(|call| self.leave(thread, call)),
            Step::NoEntry => self.counts.no_entry += 1,
            Step::OverLimit => self.counts.over_limit += 1,
        }
    }

    fn enter(&mut self, thread: ThreadKey, item: &Item<'_>) {
        let Record::Function(record) = item.record else { return };
        let open = self.open.entry(thread).or_default();
        let caller = open.last_mut().map(|(caller, is_leaf)| {
            *is_leaf = false;
            *caller
        });
        open.push((self.stacks.enter(thread.1, caller, record.function), true));
    }

    fn leave(&mut self, thread: ThreadKey, call: Call) {
        let open = self.open.get_mut(&thread).and_then(Vec::pop);
        let Some((stack, is_leaf)) = open else { return };
        self.counts.unwound += u64::from(call.end == End::Missing);
        let ticks = call.left.saturating_sub(call.entered);
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

#[cfg(test)]
mod tests {
    use super::super::stacks::NOT_KEPT;
    use super::*;

    #[test]
    fn a_call_without_a_kept_stack_has_no_edge() {
        let mut calls = Calls::default();
        calls.open.insert((None, 1), vec![(NOT_KEPT, true)]);
        let function = FunctionId::new(1).unwrap();
        calls.leave((None, 1), Call { function, entered: 1, left: 2, depth: 0, end: End::Exit });
        assert_eq!((calls.edges.len(), calls.counts.not_kept), (0, 1));
    }
}
