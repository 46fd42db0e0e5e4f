//! The operations of polls.

use std::collections::{BTreeMap, HashMap};

use trace_format::{Event, EventKind, Item, ThreadKoids};

use super::joined::hash;
use super::By;
use crate::arguments;
use crate::spans::is_mark;

/// The group of events without a value.
pub(super) const NONE: u32 = 0;

/// The most operations, and the most marks.
const MAX_OPERATIONS: usize = 4 << 20;

/// The groups of operations, for their polls.
#[derive(Debug, Default)]
pub(super) struct Polls {
    /// The groups by process, id and time of the begin: an id can be used again.
    operations: BTreeMap<(u64, u64, u64), u32>,
    /// The process, id, time and group of ends with a group.
    ends: Vec<(u64, u64, u64, u32)>,
    /// The ids of operations by thread, time in ticks and hashed name of a mark.
    marks: HashMap<(ThreadKoids, u64, u64), u64>,
    /// Whether operations or marks are missing, because there are too many.
    is_too_long: bool,
}

impl Polls {
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
            }
            EventKind::AsyncEnd { id } => self.ends.push((process, id, nanos, group)),
            EventKind::AsyncInstant { id } => {
                self.marks.insert(mark(item, event), id);
            }
            _ => {}
        }
    }

    /// Joins the groups of begins and ends.
    pub(super) fn finish(&mut self, by: &By<'_>) {
        for (process, id, nanos, group) in std::mem::take(&mut self.ends) {
            let begins = self.operations.range_mut((process, id, 0)..=(process, id, nanos));
            if let Some((_, begin)) = begins.last() {
                *begin = by.joined(*begin, group);
            }
        }
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
        let begins = self.operations.range((process, id, 0)..=(process, id, nanos));
        begins.last().map(|(_, group)| *group)
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
