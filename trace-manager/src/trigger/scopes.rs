//! Evaluation of a condition on the time of scopes and asynchronous operations.
//!
//! A scope that ends before its record is collected is one complete record. If it is open then, its
//! begin and its end are two records, and so are those of asynchronous operations.

use std::collections::BTreeMap;

use super::DurationCondition;

/// The most open scopes that a condition observes.
const MAX_OPEN: usize = 4096;

/// A thread of a provider, or an asynchronous operation by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Thread { provider: u32, process: u64, thread: u64 },
    Operation { provider: u32, id: u64 },
}

impl Owner {
    fn provider(self) -> u32 {
        match self {
            Self::Thread { provider, .. } | Self::Operation { provider, .. } => provider,
        }
    }
}

/// The state of a condition. Times are in nanoseconds of the provider's clock.
#[derive(Debug, Clone)]
pub(super) struct ScopeState {
    condition: DurationCondition,
    /// The begins of open scopes, the innermost last.
    open: BTreeMap<Owner, Vec<u64>>,
    number: usize,
}

impl ScopeState {
    pub(super) fn new(condition: DurationCondition) -> Self {
        Self { condition, open: BTreeMap::new(), number: 0 }
    }

    /// Returns whether it is about scopes of this name.
    pub(super) fn matches(&self, category: &[u8], name: &[u8]) -> bool {
        self.condition.category.as_bytes() == category && self.condition.name.as_bytes() == name
    }

    /// Handles a begin.
    pub(super) fn begin(&mut self, owner: Owner, nanos: u64) {
        if self.number < MAX_OPEN {
            self.number += 1;
            self.open.entry(owner).or_default().push(nanos);
        }
    }

    /// Handles an end. Returns whether the condition holds for the innermost open scope.
    pub(super) fn end(&mut self, owner: Owner, nanos: u64) -> bool {
        let Some(begins) = self.open.get_mut(&owner) else { return false };
        let begin = begins.pop();
        if begins.is_empty() {
            self.open.remove(&owner);
        }
        self.number -= usize::from(begin.is_some());
        begin.is_some_and(|begin| self.holds(begin, nanos))
    }

    /// Returns whether a scope from `begin` to `end` took longer than the limit.
    pub(super) fn holds(&self, begin: u64, end: u64) -> bool {
        u128::from(end.saturating_sub(begin)) > self.condition.limit.as_nanos()
    }

    /// Removes the open scopes of a provider that has left.
    pub(super) fn remove(&mut self, provider: u32) {
        self.open.retain(|owner, _| owner.provider() != provider);
        self.number = self.open.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    fn state() -> ScopeState {
        let (category, name) = ("web".to_owned(), "request".to_owned());
        ScopeState::new(DurationCondition { category, name, limit: Duration::from_millis(50) })
    }

    fn thread(thread: u64) -> Owner {
        Owner::Thread { provider: 1, process: 7, thread }
    }

    #[test]
    fn only_longer_scopes_hold() {
        let state = state();
        assert!(!state.holds(5, 5 + 50 * MS) && state.holds(5, 6 + 50 * MS));
        assert!(!state.holds(60 * MS, 0), "an end before its begin");
        assert!(state.matches(b"web", b"request") && !state.matches(b"web", b"other"));
    }

    #[test]
    fn an_open_scope_holds_at_its_end() {
        let mut state = state();
        state.begin(thread(1), 0);
        state.begin(thread(2), 30 * MS);
        assert!(!state.end(thread(2), 60 * MS) && state.end(thread(1), 60 * MS));
        assert!(!state.end(thread(1), 900 * MS), "an end without a begin");
    }

    #[test]
    fn nested_scopes_end_from_the_inside() {
        let mut state = state();
        state.begin(thread(1), 0);
        state.begin(thread(1), 50 * MS);
        assert!(!state.end(thread(1), 60 * MS) && state.end(thread(1), 60 * MS));
    }

    #[test]
    fn operations_end_on_any_thread() {
        let mut state = state();
        let operation = |id| Owner::Operation { provider: 1, id };
        state.begin(operation(1), 0);
        state.begin(operation(2), 0);
        assert!(!state.end(operation(1), MS) && state.end(operation(2), 51 * MS));
    }

    #[test]
    fn the_number_of_open_scopes_is_limited() {
        let mut state = state();
        (0..2 * MAX_OPEN as u64).for_each(|id| state.begin(thread(id), 0));
        assert_eq!(state.open.len(), MAX_OPEN);
        state.remove(1);
        assert!(state.open.is_empty() && state.number == 0);
    }
}
