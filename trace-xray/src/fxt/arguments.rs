//! The call arguments of durations whose ends are not read yet.

use std::collections::{BTreeMap, HashMap};

use trace_analyze::catalog::LabelId;

use super::sorter::OPEN;

/// The number of a thread, a begin and a label.
pub(super) type Key = (u32, u64, LabelId);

/// The arguments of several durations, in the order of the archive.
type Values = Vec<Vec<u64>>;

/// The arguments of durations, until [`Spans`](trace_analyze::spans::Spans) returns them.
#[derive(Debug, Default)]
pub(super) struct Arguments(HashMap<Key, Begun>);

/// The durations of one key.
#[derive(Debug, Default)]
struct Begun {
    /// Begins. Their ends are not known yet.
    begins: Values,
    /// Complete durations by their ends.
    complete: BTreeMap<u64, Values>,
}

impl Arguments {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the arguments of a duration that ends at `end`, if that is known. A duration without
    /// arguments is kept only if there are others of its key.
    pub(super) fn keep(&mut self, key: Key, end: Option<u64>, values: Vec<u64>) {
        if values.is_empty() && !self.0.contains_key(&key) {
            return;
        }
        let begun = self.0.entry(key).or_default();
        match end.filter(|end| *end != OPEN) {
            Some(end) => begun.complete.entry(end).or_default().push(values),
            None => begun.begins.push(values),
        }
    }

    /// Removes the arguments of a duration that ends at `end`, or at [`OPEN`]. Of several, the last
    /// one to begin ends first.
    pub(super) fn take(&mut self, key: Key, end: u64) -> Vec<u64> {
        let Some(begun) = self.0.get_mut(&key) else { return Vec::new() };
        let values = begun.take_complete(end).or_else(|| begun.begins.pop());
        if begun.begins.is_empty() && begun.complete.is_empty() {
            self.0.remove(&key);
        }
        values.unwrap_or_default()
    }
}

impl Begun {
    fn take_complete(&mut self, end: u64) -> Option<Vec<u64>> {
        if end == OPEN {
            return None;
        }
        let others = self.complete.get_mut(&end)?;
        let values = others.pop();
        if others.is_empty() {
            self.complete.remove(&end);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (1, 5, LabelId(0));

    #[test]
    fn arguments_are_removed_with_their_durations() {
        let mut arguments = Arguments::default();
        arguments.keep(KEY, None, Vec::new());
        assert!(arguments.is_empty());
        arguments.keep(KEY, None, vec![1]);
        arguments.keep(KEY, Some(9), vec![2]);
        arguments.keep(KEY, Some(9), Vec::new());
        arguments.keep(KEY, None, vec![3]);
        assert!(arguments.take(KEY, 9).is_empty());
        assert_eq!(arguments.take(KEY, OPEN), [3]);
        assert_eq!(arguments.take(KEY, 9), [2]);
        assert_eq!(arguments.take(KEY, 9), [1]);
        assert!(arguments.is_empty());
    }
}
