//! The conditions by the events that they compare, so that an event costs as much with many
//! conditions as with one.

use std::collections::HashMap;

use super::evaluated::{Evaluated, State};
use crate::trigger::Condition;

/// A text of a record or of a condition.
type Bytes = Box<[u8]>;

/// The indices of conditions.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// By category and name.
    names: HashMap<Bytes, HashMap<Bytes, Vec<usize>>>,
    /// Those on log messages.
    logs: Vec<usize>,
}

impl Groups {
    pub(super) fn new(conditions: &[Evaluated]) -> Self {
        let mut groups = Self::default();
        for (index, evaluated) in conditions.iter().enumerate() {
            match &evaluated.condition {
                Condition::Duration(it) => groups.add(&it.category, &it.name, index),
                Condition::Counter(it) => {
                    groups.add(&it.category, &it.name, index);
                    // A counter's name may have a point.
                    it.dotted_name().iter().for_each(|name| groups.add(&it.category, name, index));
                }
                _ if matches!(evaluated.state, State::Log(_)) => groups.logs.push(index),
                _ => {}
            }
        }
        groups
    }

    fn add(&mut self, category: &str, name: &str, index: usize) {
        let names = self.names.entry(category.as_bytes().into()).or_default();
        names.entry(name.as_bytes().into()).or_default().push(index);
    }

    /// Returns the conditions on durations and counters of this category and name.
    pub(super) fn of(&self, category: &[u8], name: &[u8]) -> &[usize] {
        let names = self.names.get(category);
        names.and_then(|names| names.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns the conditions on log messages.
    pub(super) fn logs(&self) -> &[usize] {
        &self.logs
    }
}
