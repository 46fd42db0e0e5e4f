//! The times until which sessions wait for replies of providers.

use std::collections::{BTreeMap, BTreeSet};

use super::ProviderId;
use crate::machine::Time;

/// The times until which sessions wait for replies, in order. The loop asks for the first one in
/// each turn.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    by_provider: BTreeMap<ProviderId, Time>,
    order: BTreeSet<(Time, ProviderId)>,
}

impl Deadlines {
    /// Sets the time of a provider, or removes it.
    pub(super) fn set(&mut self, id: ProviderId, deadline: Option<Time>) {
        let before = match deadline {
            Some(deadline) => self.by_provider.insert(id, deadline),
            None => self.by_provider.remove(&id),
        };
        if before != deadline {
            before.into_iter().for_each(|before| _ = self.order.remove(&(before, id)));
            self.order.extend(deadline.map(|deadline| (deadline, id)));
        }
    }

    pub(super) fn of(&self, id: ProviderId) -> Option<Time> {
        self.by_provider.get(&id).copied()
    }

    pub(super) fn first(&self) -> Option<Time> {
        self.order.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the providers whose time is over at the time `now`.
    pub(super) fn until(&self, now: Time) -> impl Iterator<Item = ProviderId> + '_ {
        self.order.range(..=(now, ProviderId::MAX)).map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_deadlines_are_found_in_order() {
        let mut deadlines = Deadlines::default();
        let at = Duration::from_secs;
        for (id, deadline) in [(1, 5), (2, 3), (3, 9), (1, 4)] {
            deadlines.set(id, Some(at(deadline)));
        }
        assert_eq!((deadlines.first(), deadlines.of(1)), (Some(at(3)), Some(at(4))));
        assert_eq!(deadlines.until(at(4)).collect::<Vec<_>>(), [2, 1]);
        [1, 2, 2].into_iter().for_each(|id| deadlines.set(id, None));
        assert_eq!((deadlines.first(), deadlines.until(at(8)).count()), (Some(at(9)), 0));
        deadlines.set(3, None);
        assert!(deadlines.order.is_empty() && deadlines.by_provider.is_empty());
    }
}
