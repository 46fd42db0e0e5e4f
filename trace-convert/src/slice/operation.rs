//! The events of one async operation.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_analyze::arguments;
use trace_analyze::parents::Parents;
use trace_analyze::spans::{is_mark, Spans};
use trace_analyze::Damage;
use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

/// An operation and its descendants, and the times in which threads polled them.
///
/// It takes memory for each poll and each descendant.
#[derive(Debug, Default)]
pub struct Operations {
    /// Processes and ids.
    ids: HashSet<(u64, u64)>,
    /// The begins and ends of polls in nanoseconds, in order and without overlaps.
    polls: HashMap<ThreadKoids, Vec<(u64, u64)>>,
    /// The times of the first and the last begin, end or instant, in nanoseconds.
    extent: Option<(u64, u64)>,
}

impl Operations {
    /// Reads the operation with this id. Calls `open` three times.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed, or `open` failed.
    pub fn read<R: Read, E: From<ReadError>>(
        id: u64,
        open: impl Fn() -> Result<Reader<R>, E>,
    ) -> Result<Self, E> {
        let ids = Parents::read(open()?)?.descendants(id);
        let mut operations = Self { ids, ..Self::default() };
        let begins = operations.begins(open()?)?;
        operations.read_polls(open()?, &begins)?;
        Ok(operations)
    }

    /// Returns whether the archive has no such operation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the times of the first and the last event of the operations, in nanoseconds.
    #[must_use]
    pub fn extent(&self) -> Option<(u64, u64)> {
        self.extent
    }

    /// Reads the extent, and returns the begins of polls.
    fn begins<R: Read>(
        &mut self,
        reader: Reader<R>,
    ) -> Result<HashSet<(ThreadKoids, u64)>, ReadError> {
        let (mut begins, mut extent) = (HashSet::new(), None::<(u64, u64)>);
        Damage::of_all(reader, |item| {
            let Record::Event(event) = &item.record else { return };
            let (thread, nanos) = (item.thread(event.thread), item.nanos(event.ticks));
            let own = async_id(event.kind);
            if own.is_some_and(|id| self.ids.contains(&(thread.process, id))) {
                let (first, last) = extent.unwrap_or((nanos, nanos));
                extent = Some((first.min(nanos), last.max(nanos)));
            }
            let task = match event.kind {
                EventKind::DurationBegin | EventKind::DurationComplete { .. } => {
                    arguments::named_unsigned(item, &event.arguments, "task")
                }
                EventKind::AsyncInstant { id } if is_mark(item, event) => Some(id),
                _ => None,
            };
            if task.is_some_and(|task| self.ids.contains(&(thread.process, task))) {
                begins.insert((thread, nanos));
            }
        })?;
        self.extent = extent;
        Ok(begins)
    }

    fn read_polls<R: Read>(
        &mut self,
        reader: Reader<R>,
        begins: &HashSet<(ThreadKoids, u64)>,
    ) -> Result<(), ReadError> {
        let mut spans = Spans::default();
        let mut add = |span: trace_analyze::spans::Span| {
            let begin = span.rate.to_nanos(span.begin);
            if begins.contains(&(span.koids, begin)) {
                let end = span.rate.to_nanos(span.end);
                self.polls.entry(span.koids).or_default().push((begin, end));
            }
        };
        Damage::of_all(reader, |item| spans.record(item).for_each(&mut add))?;
        spans.finish().for_each(&mut add);
        self.polls.values_mut().for_each(merge);
        Ok(())
    }

    /// Returns whether an event belongs to one of the operations, or is in a poll.
    pub(super) fn has(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let thread = item.thread(event.thread);
        match async_id(event.kind) {
            Some(id) => self.ids.contains(&(thread.process, id)),
            None => self.is_in_poll(thread, item.nanos(event.ticks)),
        }
    }

    /// Returns whether a thread polls one of the operations at a time.
    pub(super) fn is_in_poll(&self, thread: ThreadKoids, nanos: u64) -> bool {
        let Some(polls) = self.polls.get(&thread) else { return false };
        let begun = polls.partition_point(|(begin, _)| *begin <= nanos);
        polls.get(..begun).and_then(<[_]>::last).is_some_and(|(_, end)| nanos <= *end)
    }
}

/// Returns the id of an operation's own event.
fn async_id(kind: EventKind) -> Option<u64> {
    match kind {
        EventKind::AsyncBegin { id }
        | EventKind::AsyncEnd { id }
        | EventKind::AsyncInstant { id } => Some(id),
        _ => None,
    }
}

/// Sorts times, and merges those that overlap: the poll of a child is inside that of its parent.
fn merge(times: &mut Vec<(u64, u64)>) {
    times.sort_unstable();
    times.dedup_by(|next, (_, end)| {
        let overlaps = next.0 <= *end;
        if overlaps {
            *end = next.1.max(*end);
        }
        overlaps
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_equal_times_are_merged() {
        let mut times = vec![(50, 60), (10, 40), (20, 30), (35, 45), (70, 70), (70, 71)];
        merge(&mut times);
        assert_eq!(times, [(10, 45), (50, 60), (70, 71)]);
    }
}
