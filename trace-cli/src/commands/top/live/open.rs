//! Scopes and operations that have not ended. A live stream has the begin and the end of a long
//! scope as two records.

use std::collections::{HashMap, VecDeque};

use trace_format::ThreadKoids;

/// The most threads, and the most operations, that are tracked.
const MAX: usize = 1 << 16;

/// The most open scopes of a thread.
const MAX_DEPTH: usize = 256;

/// A provider's thread.
type Thread = (Option<u32>, u64, u64);

/// The number of an operation's name, and its id.
type Operation = (usize, u64);

/// The open scopes and operations.
#[derive(Debug, Default)]
pub(super) struct Open {
    scopes: HashMap<Thread, Stack>,
    /// The begins of the open operations.
    operations: HashMap<Operation, u64>,
    /// Operations in the order of their begins. The begin of an ended one may remain.
    begun: VecDeque<(Operation, u64)>,
}

/// The open scopes of a thread.
#[derive(Debug, Default)]
struct Stack {
    /// Number of the name, and begin in nanoseconds.
    scopes: Vec<(Option<usize>, u64)>,
    /// The number of open scopes beyond [`MAX_DEPTH`].
    skipped: usize,
}

impl Stack {
    fn push(&mut self, name: Option<usize>, at: u64) {
        match self.scopes.len() < MAX_DEPTH {
            true => self.scopes.push((name, at)),
            false => self.skipped += 1,
        }
    }

    fn pop(&mut self) -> Option<(Option<usize>, u64)> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return None;
        }
        self.scopes.pop()
    }
}

impl Open {
    /// Adds a scope. `name` is `None` if it is not selected.
    pub(super) fn begin(
        &mut self,
        provider: Option<u32>,
        thread: ThreadKoids,
        name: Option<usize>,
        at: u64,
    ) {
        let key = (provider, thread.process, thread.thread);
        if self.scopes.len() >= MAX && !self.scopes.contains_key(&key) {
            return;
        }
        self.scopes.entry(key).or_default().push(name, at);
    }

    /// Ends the innermost scope of a thread. Returns its name and its duration.
    pub(super) fn end(
        &mut self,
        provider: Option<u32>,
        thread: ThreadKoids,
        at: u64,
    ) -> Option<(usize, u64)> {
        let key = (provider, thread.process, thread.thread);
        let stack = self.scopes.get_mut(&key)?;
        let scope = stack.pop();
        if stack.scopes.is_empty() {
            self.scopes.remove(&key);
        }
        let (name, begin) = scope?;
        Some((name?, at.saturating_sub(begin)))
    }

    /// Removes the open scopes of a provider that dropped records. Their ends may be missing.
    pub(super) fn clear(&mut self, provider: Option<u32>) {
        self.scopes.retain(|(of, _, _), _| *of != provider);
    }

    /// Adds an operation. If [`MAX`] are open, the oldest one is removed.
    pub(super) fn begin_operation(&mut self, name: usize, id: u64, at: u64) {
        let operations = &mut self.operations;
        while operations.len() >= MAX {
            let Some((oldest, begin)) = self.begun.pop_front() else { break };
            // An operation that began again is younger.
            if operations.get(&oldest) == Some(&begin) {
                operations.remove(&oldest);
            }
        }
        if self.begun.len() >= 2 * MAX {
            self.begun.retain(|(key, begin)| operations.get(key) == Some(begin));
        }
        operations.insert((name, id), at);
        self.begun.push_back(((name, id), at));
    }

    /// Ends an operation. Returns its duration, if its begin is in the stream.
    pub(super) fn end_operation(&mut self, name: usize, id: u64, at: u64) -> Option<u64> {
        self.operations.remove(&(name, id)).map(|begin| at.saturating_sub(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadKoids = ThreadKoids::new(1, 2);

    #[test]
    fn ends_of_skipped_scopes_end_no_other_scope() {
        let mut open = Open::default();
        (0..MAX_DEPTH + 2).for_each(|at| open.begin(None, THREAD, Some(7), at as u64));
        assert_eq!([1000; 2].map(|at| open.end(None, THREAD, at)), [None; 2]);
        let inner = MAX_DEPTH as u64 - 1;
        assert_eq!(open.end(None, THREAD, 1000), Some((7, 1000 - inner)));
    }

    #[test]
    fn scopes_of_a_provider_with_losses_are_removed() {
        let mut open = Open::default();
        [1, 2].into_iter().for_each(|id| open.begin(Some(id), THREAD, Some(7), 10));
        open.clear(Some(1));
        assert_eq!(open.end(Some(1), THREAD, 30), None);
        assert_eq!(open.end(Some(2), THREAD, 30), Some((7, 20)));
    }

    #[test]
    fn ended_threads_leave_space_for_others() {
        let mut open = Open::default();
        for thread in 0..MAX as u64 + 1 {
            let thread = ThreadKoids::new(1, thread);
            open.begin(None, thread, Some(7), 10);
            assert_eq!(open.end(None, thread, 30), Some((7, 20)));
        }
        assert!(open.scopes.is_empty());
    }

    #[test]
    fn the_oldest_operations_are_removed() {
        let mut open = Open::default();
        (0..MAX as u64 + 1).for_each(|id| open.begin_operation(7, id, 10));
        assert_eq!(open.end_operation(7, 0, 30), None);
        assert_eq!(open.end_operation(7, MAX as u64, 30), Some(20));
        assert_eq!(open.end_operation(7, 1, 30), Some(20));
    }

    #[test]
    fn ended_operations_do_not_remove_open_ones() {
        let mut open = Open::default();
        open.begin_operation(7, 0, 10);
        for id in 1..3 * MAX as u64 {
            open.begin_operation(7, id, 10);
            assert_eq!(open.end_operation(7, id, 30), Some(20));
        }
        assert!(open.begun.len() <= 2 * MAX);
        assert_eq!(open.end_operation(7, 0, 30), Some(20));
    }
}
