//! Scopes and operations that have not ended. A live stream has the begin and the end of a long
//! scope as two records.

use std::collections::VecDeque;

use trace_analyze::pairing::OpenBegins;
use trace_format::ThreadKoids;

/// The most open operations.
const MAX_OPERATIONS: usize = 1 << 16;

/// The most open scopes of all threads.
const MAX_SCOPES: usize = 1 << 20;

/// The most open scopes of a thread.
const MAX_DEPTH: usize = 256;

/// A provider's thread.
type Thread = (Option<u32>, ThreadKoids);

/// An operation's process, the number of its name, and its id.
type Operation = (u64, usize, u64);

/// The open scopes and operations, with their begins in nanoseconds.
#[derive(Debug)]
pub(super) struct Open {
    /// The number of the name, or `None` if it is not selected, and the begin.
    scopes: OpenBegins<Thread, (Option<usize>, u64)>,
    operations: OpenBegins<Operation, u64>,
    /// Operations in the order of their begins. The begin of an ended one may remain.
    begun: VecDeque<(Operation, u64)>,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            scopes: OpenBegins::new(MAX_SCOPES),
            operations: OpenBegins::new(MAX_OPERATIONS),
            begun: VecDeque::new(),
        }
    }
}

impl Open {
    /// Adds a scope. `name` is `None` if it is not selected. If the thread has too many open
    /// scopes, these are removed: their ends must not end others.
    pub(super) fn begin(
        &mut self,
        provider: Option<u32>,
        thread: ThreadKoids,
        name: Option<usize>,
        at: u64,
    ) {
        let key = (provider, thread);
        if self.scopes.depth(&key) >= MAX_DEPTH || !self.scopes.begin(key, (name, at)) {
            self.scopes.forget(&key);
        }
    }

    /// Ends the innermost scope of a thread whose name matches, and the scopes inside. Returns its
    /// name and its duration.
    pub(super) fn end(
        &mut self,
        provider: Option<u32>,
        thread: ThreadKoids,
        matches: impl Fn(Option<usize>) -> bool,
        at: u64,
    ) -> Option<(usize, u64)> {
        let key = (provider, thread);
        let ((name, begin), inside) = self.scopes.end(&key, |(name, _)| matches(*name))?;
        self.scopes.cut(&key, inside);
        Some((name?, at.saturating_sub(begin)))
    }

    /// Removes the open scopes of a provider that dropped records. Their ends may be missing.
    pub(super) fn clear(&mut self, provider: Option<u32>) {
        self.scopes.retain(|(of, _)| *of != provider);
    }

    /// Adds an operation. If too many are open, the oldest ones are removed.
    pub(super) fn begin_operation(&mut self, operation: Operation, at: u64) {
        let operations = &mut self.operations;
        let is_open = |operations: &OpenBegins<Operation, u64>, (key, begin): &(_, u64)| {
            operations.find(key, |of| of == begin).is_some()
        };
        while !operations.begin(operation, at) {
            let Some(oldest) = self.begun.pop_front() else { return };
            if is_open(operations, &oldest) {
                operations.forget(&oldest.0);
            }
        }
        if self.begun.len() >= 2 * MAX_OPERATIONS {
            self.begun.retain(|begun| is_open(operations, begun));
        }
        self.begun.push_back((operation, at));
    }

    /// Ends an operation. Returns its duration, if its begin is in the stream.
    pub(super) fn end_operation(&mut self, operation: Operation, at: u64) -> Option<u64> {
        let (begin, _) = self.operations.end(&operation, |_| true)?;
        Some(at.saturating_sub(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadKoids = ThreadKoids::new(1, 2);

    /// Ends a scope of THREAD with this name.
    fn end(open: &mut Open, number: usize, at: u64) -> Option<(usize, u64)> {
        open.end(None, THREAD, |name| name == Some(number), at)
    }

    #[test]
    fn an_end_ends_the_innermost_scope_of_its_name() {
        let mut open = Open::default();
        open.begin(None, THREAD, Some(7), 10);
        open.begin(None, THREAD, Some(8), 20);
        // The end of 8 is missing.
        assert_eq!(end(&mut open, 7, 30), Some((7, 20)));
        assert_eq!(end(&mut open, 8, 40), None);
        // The begin of 8 is missing.
        open.begin(None, THREAD, Some(7), 50);
        assert_eq!(end(&mut open, 8, 60), None);
        assert_eq!(end(&mut open, 7, 70), Some((7, 20)));
    }

    #[test]
    fn ends_of_removed_scopes_end_no_other_scope() {
        let mut open = Open::default();
        let begins = MAX_DEPTH as u64 + 3;
        (0..begins).for_each(|at| open.begin(None, THREAD, Some(7), at));
        for at in (MAX_DEPTH as u64 + 1..begins).rev() {
            assert_eq!(end(&mut open, 7, 1000), Some((7, 1000 - at)));
        }
        assert_eq!(end(&mut open, 7, 1000), None);
    }

    #[test]
    fn scopes_of_a_provider_with_losses_are_removed() {
        let mut open = Open::default();
        [1, 2].into_iter().for_each(|id| open.begin(Some(id), THREAD, Some(7), 10));
        open.clear(Some(1));
        assert_eq!(open.end(Some(1), THREAD, |_| true, 30), None);
        assert_eq!(open.end(Some(2), THREAD, |_| true, 30), Some((7, 20)));
    }

    #[test]
    fn operations_of_two_processes_can_have_one_id() {
        let mut open = Open::default();
        open.begin_operation((1, 7, 5), 10);
        open.begin_operation((2, 7, 5), 20);
        assert_eq!(open.end_operation((1, 7, 5), 30), Some(20));
        assert_eq!(open.end_operation((2, 7, 5), 30), Some(10));
    }

    #[test]
    fn the_oldest_operations_are_removed() {
        let mut open = Open::default();
        (0..MAX_OPERATIONS as u64 + 1).for_each(|id| open.begin_operation((1, 7, id), 10));
        assert_eq!(open.end_operation((1, 7, 0), 30), None);
        assert_eq!(open.end_operation((1, 7, MAX_OPERATIONS as u64), 30), Some(20));
        assert_eq!(open.end_operation((1, 7, 1), 30), Some(20));
    }

    #[test]
    fn ended_operations_do_not_remove_open_ones() {
        let mut open = Open::default();
        open.begin_operation((1, 7, 0), 10);
        for id in 1..3 * MAX_OPERATIONS as u64 {
            open.begin_operation((1, 7, id), 10);
            assert_eq!(open.end_operation((1, 7, id), 30), Some(20));
        }
        assert!(open.begun.len() <= 2 * MAX_OPERATIONS);
        assert_eq!(open.end_operation((1, 7, 0), 30), Some(20));
    }
}
