//! Evaluation of a condition on the time of scopes, asynchronous operations and flows.
//!
//! A scope that ends before its record is collected is one complete record. If it is open then, its
//! begin and its end are two records, and so are those of asynchronous operations.

use std::collections::{BTreeMap, BTreeSet};

use super::DurationCondition;

/// The most open scopes of a provider that a condition observes.
const MAX_OPEN: usize = 4096;

/// A thread, or an asynchronous operation or a flow by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Flow(u64),
    Operation(u64),
    Thread { process: u64, thread: u64 },
}

/// The state of a condition. Times are in nanoseconds of the provider's clock.
#[derive(Debug, Clone)]
pub(super) struct ScopeState {
    condition: DurationCondition,
    providers: BTreeMap<u32, OpenScopes>,
}

/// The open scopes of a provider.
#[derive(Debug, Clone, Default)]
struct OpenScopes {
    stacks: BTreeMap<Owner, Stack>,
    by_age: BTreeSet<Age>,
    number: usize,
}

/// The order in which owners are removed if there are too many: operations and flows first, because
/// a program may not end them, then those with the oldest begin.
type Age = (bool, u64, Owner);

/// The open scopes of a thread, an operation or a flow.
#[derive(Debug, Clone)]
struct Stack {
    /// The begins, the innermost last.
    begins: Vec<Begin>,
    /// The number of scopes in them that are not observed.
    ignored: u64,
}

/// The begin of a scope, an operation or a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begin {
    nanos: u64,
    /// A poll does not count: its operation has the same name.
    is_poll: bool,
}

impl Begin {
    pub(super) fn of_scope(nanos: u64) -> Self {
        Self { nanos, is_poll: false }
    }

    pub(super) fn of_poll(nanos: u64) -> Self {
        Self { nanos, is_poll: true }
    }
}

impl ScopeState {
    pub(super) fn new(condition: DurationCondition) -> Self {
        Self { condition, providers: BTreeMap::new() }
    }

    /// Returns whether it is about scopes of this name.
    pub(super) fn matches(&self, category: &[u8], name: &[u8]) -> bool {
        self.condition.category.as_bytes() == category && self.condition.name.as_bytes() == name
    }

    /// Handles a begin. Returns false if the provider has too many open scopes to observe all.
    pub(super) fn begin(&mut self, provider: u32, owner: Owner, begin: Begin) -> bool {
        self.providers.entry(provider).or_default().begin(owner, begin)
    }

    /// Handles an end. Returns whether the condition holds for the innermost open scope.
    pub(super) fn end(&mut self, provider: u32, owner: Owner, nanos: u64) -> bool {
        let begin = self.providers.get_mut(&provider).and_then(|open| open.end(owner));
        begin.is_some_and(|begin| !begin.is_poll && self.holds(begin.nanos, nanos))
    }

    /// Returns whether a scope from `begin` to `end` took longer than the limit.
    pub(super) fn holds(&self, begin: u64, end: u64) -> bool {
        u128::from(end.saturating_sub(begin)) > self.condition.limit.as_nanos()
    }

    /// Handles the loss of records of a thread, or of several ones. An end may now be that of a
    /// lost begin, so the scopes are removed that the loss may concern.
    pub(super) fn lose(&mut self, provider: u32, thread: Option<Owner>) {
        match (thread, self.providers.get_mut(&provider)) {
            (Some(thread), Some(open)) => open.lose(thread),
            _ => self.remove(provider),
        }
    }

    /// Removes the open scopes of a provider that has left.
    pub(super) fn remove(&mut self, provider: u32) {
        self.providers.remove(&provider);
    }
}

impl OpenScopes {
    fn begin(&mut self, owner: Owner, begin: Begin) -> bool {
        if self.is_of_operation(owner) {
            return true;
        }
        match self.stacks.get_mut(&owner) {
            // Inside an ignored scope.
            Some(stack) if stack.ignored > 0 => {
                stack.ignored += 1;
                return false;
            }
            _ => {}
        }
        if self.number < MAX_OPEN {
            self.push(owner, begin);
            return true;
        }
        match self.by_age.iter().find(|(.., other)| *other != owner) {
            Some((.., oldest)) => {
                self.remove(*oldest);
                self.push(owner, begin);
            }
            // All are scopes of this owner.
            None => self.stacks.values_mut().for_each(|stack| stack.ignored += 1),
        }
        false
    }

    /// Returns whether it is the flow that joins the polls of an open operation, which have its id.
    fn is_of_operation(&self, owner: Owner) -> bool {
        let Owner::Flow(id) = owner else { return false };
        self.stacks.contains_key(&Owner::Operation(id))
    }

    fn push(&mut self, owner: Owner, begin: Begin) {
        let stack = self.stacks.entry(owner);
        let stack = stack.or_insert_with(|| Stack { begins: Vec::new(), ignored: 0 });
        if stack.begins.is_empty() {
            self.by_age.insert(age(owner, begin));
        }
        stack.begins.push(begin);
        self.number += 1;
    }

    /// Returns the begin of the innermost scope, if it is observed.
    fn end(&mut self, owner: Owner) -> Option<Begin> {
        let stack = self.stacks.get_mut(&owner)?;
        if stack.ignored > 0 {
            stack.ignored -= 1;
            return None;
        }
        let begin = stack.begins.pop()?;
        self.number -= 1;
        if stack.begins.is_empty() {
            self.stacks.remove(&owner);
            self.by_age.remove(&age(owner, begin));
        }
        Some(begin)
    }

    fn remove(&mut self, owner: Owner) {
        if let Some(Stack { begins, .. }) = self.stacks.remove(&owner) {
            self.number -= begins.len();
            begins.first().map(|begin| self.by_age.remove(&age(owner, *begin)));
        }
    }

    /// Removes the scopes of a thread, and all operations and flows.
    fn lose(&mut self, thread: Owner) {
        self.remove(thread);
        while let Some((false, _, operation)) = self.by_age.first().copied() {
            self.remove(operation);
        }
    }
}

fn age(owner: Owner, begin: Begin) -> Age {
    (matches!(owner, Owner::Thread { .. }), begin.nanos, owner)
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
        Owner::Thread { process: 7, thread }
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
        state.begin(1, thread(1), Begin::of_scope(0));
        state.begin(1, thread(2), Begin::of_scope(30 * MS));
        assert!(!state.end(1, thread(2), 60 * MS) && state.end(1, thread(1), 60 * MS));
        assert!(!state.end(1, thread(1), 900 * MS), "an end without a begin");
    }

    #[test]
    fn nested_scopes_end_from_the_inside() {
        let mut state = state();
        state.begin(1, thread(1), Begin::of_scope(0));
        state.begin(1, thread(1), Begin::of_scope(50 * MS));
        assert!(!state.end(1, thread(1), 60 * MS) && state.end(1, thread(1), 60 * MS));
    }

    #[test]
    fn polls_do_not_count() {
        let mut state = state();
        state.begin(1, thread(1), Begin::of_scope(0));
        state.begin(1, thread(1), Begin::of_poll(0));
        assert!(!state.end(1, thread(1), 60 * MS) && state.end(1, thread(1), 60 * MS));
    }

    #[test]
    fn operations_end_on_any_thread() {
        let mut state = state();
        let operation = Owner::Operation;
        state.begin(1, operation(1), Begin::of_scope(0));
        state.begin(1, operation(2), Begin::of_scope(0));
        assert!(!state.end(1, operation(1), MS) && state.end(1, operation(2), 51 * MS));
    }

    #[test]
    fn flows_end_on_any_thread_and_those_of_polls_do_not_count() {
        let mut state = state();
        state.begin(1, Owner::Flow(1), Begin::of_scope(0));
        assert!(state.end(1, Owner::Flow(1), 51 * MS));
        state.begin(1, Owner::Operation(2), Begin::of_scope(0));
        assert!(state.begin(1, Owner::Flow(2), Begin::of_scope(0)));
        assert!(
            !state.end(1, Owner::Flow(2), 51 * MS) && state.end(1, Owner::Operation(2), 51 * MS)
        );
    }

    #[test]
    fn the_number_of_open_scopes_is_limited() {
        let mut state = state();
        let begun =
            (0..2 * MAX_OPEN as u64).filter(|id| state.begin(1, thread(*id), Begin::of_scope(*id)));
        assert_eq!(begun.count(), MAX_OPEN);
        let open = &state.providers[&1];
        assert_eq!([open.stacks.len(), open.by_age.len(), open.number], [MAX_OPEN; 3]);
        assert!(open.stacks.keys().all(|owner| *owner >= thread(MAX_OPEN as u64)), "the newest");
        state.remove(1);
        assert!(state.providers.is_empty());
    }

    #[test]
    fn operations_are_removed_before_threads() {
        let mut state = state();
        state.begin(1, thread(1), Begin::of_scope(0));
        let begun = (0..MAX_OPEN as u64)
            .filter(|id| state.begin(1, Owner::Operation(*id), Begin::of_scope(MS)));
        assert_eq!(begun.count(), MAX_OPEN - 1);
        assert!(!state.end(1, Owner::Operation(0), 900 * MS) && state.end(1, thread(1), 900 * MS));
    }

    #[test]
    fn counts_are_right_after_any_events() {
        let mut state = state();
        for step in 0..40_000_u64 {
            let owner = match step * 7919 % 5 {
                0..3 => Owner::Operation(step * 31 % 6000),
                _ => thread(step * 17 % 300),
            };
            match step * 104_729 % 8 {
                0..5 => state.begin(1, owner, Begin::of_scope(step)),
                _ => state.end(1, owner, step),
            };
            if step % 9973 == 0 {
                state.lose(1, Some(thread(3)));
            }
        }
        let open = &state.providers[&1];
        assert_eq!(open.number, open.stacks.values().map(|stack| stack.begins.len()).sum());
        let ages = open.stacks.iter().map(|(owner, stack)| age(*owner, stack.begins[0]));
        assert_eq!(open.by_age, ages.collect());
    }
}
