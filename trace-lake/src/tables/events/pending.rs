//! Arguments of begins and ends that wait for the rest of their span or operation.

use trace_analyze::catalog::DenseMap;
use trace_format::{Event, Item};

use crate::arguments::{self, Argument};

/// The arguments of events, by the number of their record.
#[derive(Debug, Default)]
pub(super) struct Pending(DenseMap<Vec<Argument>>);

impl Pending {
    pub(super) fn note(&mut self, item: &Item<'_>, event: &Event<'_>, number: i64) {
        if !event.arguments.is_empty() {
            self.0.insert(number as u64, arguments::of(item, &event.arguments));
        }
    }

    /// Returns the number of events whose arguments wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes the arguments of a begin and an end. If both have one of a name, that of the end
    /// counts.
    pub(super) fn take(&mut self, [begin, end]: [i64; 2]) -> Vec<Argument> {
        let mut list = self.0.remove(&(begin as u64)).unwrap_or_default();
        for argument in self.0.remove(&(end as u64)).unwrap_or_default() {
            arguments::add(&mut list, argument);
        }
        list
    }
}
