//! The operations of polls.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace_format::{Event, EventKind, Item, ThreadKoids};

use super::joined::hash;
use super::By;
use crate::arguments;
use crate::parents::{parent_of, MAX_ANCESTORS};
use crate::spans::is_mark;

/// The group of events without a value, which is the default of durations' values.
pub(super) const NONE: u32 = 0;

/// The most operations, and the most marks.
const MAX_OPERATIONS: usize = 4 << 20;

/// The groups of operations, for their polls.
#[derive(Debug, Default)]
pub(super) struct Polls {
    /// The groups by process, id and time of the begin: an id can be used again.
    operations: BTreeMap<Key, u32>,
    /// The process, id, time and group of ends with a group.
    ends: Vec<(u64, u64, u64, u32)>,
    /// The ids of operations by thread, time in ticks and hashed name of a mark.
    marks: HashMap<(ThreadKoids, u64, u64), u64>,
    /// Whether operations or marks are missing, because there are too many.
    is_too_long: bool,
    /// The parents of operations, if their groups are inherited.
    parents: Option<HashMap<Key, u64>>,
    /// The operations with the group of an ancestor.
    inherited: HashSet<Key>,
}

/// The process, id and time of an operation's begin.
type Key = (u64, u64, u64);

impl Polls {
    /// Creates a store in which operations without a group have that of their nearest ancestor.
    pub(super) fn with_inheritance() -> Self {
        Self { parents: Some(HashMap::new()), ..Self::default() }
    }

    /// Adds an event with its group.
    pub(super) fn add(&mut self, item: &Item<'_>, event: &Event<'_>, group: u32) {
        let (process, nanos) = (item.thread(event.thread).process, item.nanos(event.ticks));
        let count = self.operations.len().max(self.ends.len()).max(self.marks.len());
        match event.kind {
            EventKind::AsyncEnd { .. } if group == NONE => {}
            EventKind::AsyncInstant { .. } if !is_mark(item, event) => {}
            EventKind::AsyncBegin { .. }
            | EventKind::AsyncEnd { .. }
            | EventKind::AsyncInstant { .. }
                if count >= MAX_OPERATIONS =>
            {
                self.is_too_long = true;
            }
            EventKind::AsyncBegin { id } => {
                self.operations.insert((process, id, nanos), group);
                if let Some((parents, parent)) = self.parents.as_mut().zip(parent_of(item, event)) {
                    parents.insert((process, id, nanos), parent);
                }
            }
            EventKind::AsyncEnd { id } => self.ends.push((process, id, nanos, group)),
            EventKind::AsyncInstant { id } => {
                self.marks.insert(mark(item, event), id);
            }
            _ => {}
        }
    }

    /// Joins the groups of begins and ends, and inherits groups.
    pub(super) fn finish(&mut self, by: &By<'_>) {
        for (process, id, nanos, group) in std::mem::take(&mut self.ends) {
            let begins = self.operations.range_mut((process, id, 0)..=(process, id, nanos));
            if let Some((_, begin)) = begins.last() {
                *begin = by.joined(*begin, group);
            }
        }
        let parents = self.parents.take().unwrap_or_default();
        let without = self.operations.iter().filter(|(_, group)| **group == NONE);
        let of_ancestor = |key: &Key| Some((*key, self.of_ancestor(&parents, *key)?));
        let found: Vec<(Key, u32)> = without.filter_map(|(key, _)| of_ancestor(key)).collect();
        self.inherited.extend(found.iter().map(|(key, _)| *key));
        self.operations.extend(found);
    }

    /// Returns the group of the nearest ancestor that has one.
    fn of_ancestor(&self, parents: &HashMap<Key, u64>, key: Key) -> Option<u32> {
        let parent = |key: &Key| self.begin(key.0, *parents.get(key)?, key.2).map(|(key, _)| key);
        let mut ancestors = std::iter::successors(parent(&key), parent).take(MAX_ANCESTORS);
        ancestors.find_map(|key| self.operations.get(&key).copied().filter(|it| *it != NONE))
    }

    /// Returns the last begin of an operation that is not after a time, with its group.
    fn begin(&self, process: u64, id: u64, nanos: u64) -> Option<(Key, u32)> {
        let begins = self.operations.range((process, id, 0)..=(process, id, nanos));
        begins.last().map(|(key, group)| (*key, *group))
    }

    /// Returns the group of the operation that an event begins, and whether it is that of an
    /// ancestor.
    pub(super) fn of_operation(&self, item: &Item<'_>, event: &Event<'_>, id: u64) -> (u32, bool) {
        let key = (item.thread(event.thread).process, id, item.nanos(event.ticks));
        let group = self.operations.get(&key).copied().unwrap_or(NONE);
        (group, self.inherited.contains(&key))
    }

    /// Returns the group of the operation that a duration polls, and `None` if it polls none, or if
    /// that is unknown.
    pub(super) fn group(&self, item: &Item<'_>, event: &Event<'_>) -> Option<u32> {
        if self.operations.is_empty() {
            return None;
        }
        let id = arguments::named_unsigned(item, &event.arguments, "task")
            .or_else(|| self.marks.get(&mark(item, event)).copied())?;
        let (process, nanos) = (item.thread(event.thread).process, item.nanos(event.ticks));
        self.begin(process, id, nanos).map(|(_, group)| group)
    }

    /// Returns whether groups of polls are unknown, because there are too many operations.
    pub(super) fn is_too_long(&self) -> bool {
        self.is_too_long
    }
}

/// Returns the thread, time and hashed name of a mark, or of a duration.
fn mark(item: &Item<'_>, event: &Event<'_>) -> (ThreadKoids, u64, u64) {
    let name = hash((&*item.text(event.category), &*item.text(event.name)));
    (item.thread(event.thread), event.ticks, name)
}
