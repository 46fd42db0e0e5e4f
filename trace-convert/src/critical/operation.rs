//! The path of an async operation.

use std::collections::HashMap;
use std::io::Read;

use trace_format::{Event, EventKind, Item, Reader, Record, ThreadKoids};

use super::{Chosen, Segment};
use crate::catalog::{Catalog, LabelId};
use crate::references::{peek_thread, peek_unsigned};
use crate::{ConvertError, Damage};

/// The most operations within one another that a path goes into.
const MAX_DEPTH: usize = 64;

/// The most segments of a path; what is before them is one wait.
const MAX_SEGMENTS: usize = 1 << 20;

/// An operation of the time that is looked at.
#[derive(Debug)]
struct Operation {
    label: LabelId,
    begin: u64,
    end: u64,
    /// Its polls by their end.
    polls: Vec<Poll>,
    /// The operations whose parent it is.
    children: Vec<u64>,
}

impl Operation {
    fn new(label: LabelId, begin: u64) -> Self {
        Self { label, begin, end: u64::MAX, polls: Vec::new(), children: Vec::new() }
    }

    /// Returns the length of its longest poll within a time.
    fn longest_poll(&self, (from, to): (u64, u64)) -> u64 {
        let first = self.polls.partition_point(|poll| poll.begin < from);
        let polls = self.polls.iter().skip(first).take_while(|poll| poll.end <= to);
        polls.map(|poll| poll.end - poll.begin).max().unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy)]
struct Poll {
    begin: u64,
    end: u64,
    thread: ThreadKoids,
}

/// Operations of one process by id. Their events may come in any order.
#[derive(Debug, Default)]
struct Operations {
    catalog: Catalog,
    by_id: HashMap<u64, Operation>,
    /// Children by parent.
    children: HashMap<u64, Vec<u64>>,
    ends: HashMap<u64, Vec<u64>>,
    polls: HashMap<u64, Vec<Poll>>,
}

/// Returns the path of an operation.
pub(super) fn path<R: Read>(
    chosen: &Chosen,
    reader: Reader<R>,
) -> Result<Vec<Segment>, ConvertError> {
    let mut operations = Operations::default();
    Damage::of_all(reader, |item| {
        operations.catalog.note(item);
        if let Record::Event(event) = &item.record {
            operations.event(chosen, item, event);
        }
    })?;
    operations.finish();
    let mut segments = Vec::new();
    operations.follow(chosen.id, (chosen.begin, chosen.end), 0, &mut segments);
    segments.reverse();
    Ok(segments)
}

impl Operations {
    fn event(&mut self, chosen: &Chosen, item: &Item<'_>, event: &Event<'_>) {
        let nanos = item.nanos(event.ticks);
        let thread = peek_thread(item, event.thread);
        if thread.process != chosen.process || nanos > chosen.end {
            return;
        }
        match event.kind {
            EventKind::AsyncBegin { id } if nanos >= chosen.begin => {
                let label = self.catalog.label(item, event.category, event.name);
                // Other operations with the same id are parts of it.
                let operation =
                    self.by_id.entry(id).or_insert_with(|| Operation::new(label, nanos));
                if nanos < operation.begin {
                    *operation = Operation::new(label, nanos);
                }
                if let Some(parent) = peek_unsigned(item, &event.arguments, "parent") {
                    self.children.entry(parent).or_default().push(id);
                }
            }
            EventKind::AsyncEnd { id } if nanos >= chosen.begin => {
                self.ends.entry(id).or_default().push(nanos);
            }
            EventKind::DurationComplete { end } => {
                let end = item.nanos(end).max(nanos);
                if end >= chosen.begin {
                    if let Some(task) = peek_unsigned(item, &event.arguments, "task") {
                        self.polls.entry(task).or_default().push(Poll {
                            begin: nanos,
                            end,
                            thread,
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// Puts together what belongs together.
    fn finish(&mut self) {
        for (id, operation) in &mut self.by_id {
            let ends = self.ends.get(id).into_iter().flatten().copied();
            operation.end = ends.filter(|end| *end >= operation.begin).max().unwrap_or(u64::MAX);
        }
        for (parent, children) in std::mem::take(&mut self.children) {
            if let Some(operation) = self.by_id.get_mut(&parent) {
                operation.children = children;
            }
        }
        for (id, mut polls) in std::mem::take(&mut self.polls) {
            if let Some(operation) = self.by_id.get_mut(&id) {
                polls.sort_by_key(|poll| poll.end);
                operation.polls = polls;
            }
        }
    }

    /// Follows an operation from the end of a time to its begin; the segments
    /// come in that order.
    fn follow(&self, id: u64, time: (u64, u64), depth: usize, segments: &mut Vec<Segment>) {
        let Some(operation) = self.by_id.get(&id) else { return };
        let (from, mut now) = time;
        while now > from && segments.len() < MAX_SEGMENTS {
            let before = operation.polls.partition_point(|poll| poll.begin < now);
            // Polls of one operation do not overlap: the last to begin is it.
            let poll = before.checked_sub(1).and_then(|place| operation.polls.get(place));
            let poll = poll.filter(|poll| poll.end > from);
            if let Some(poll) = poll.filter(|poll| poll.end >= now) {
                let begin = poll.begin.max(from);
                self.push(operation.label, (begin, now), depth, Some(poll.thread), segments);
                now = begin;
                continue;
            }
            let waits_from = poll.map_or(from, |poll| poll.end.max(from));
            now = self.wait(operation, (waits_from, now), depth, segments);
        }
        self.push(operation.label, (from, now), depth, None, segments);
    }

    /// Follows what an operation waited for between two of its polls; returns
    /// when that began.
    fn wait(
        &self,
        operation: &Operation,
        time: (u64, u64),
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> u64 {
        let (from, to) = time;
        let child = self.awaited(operation, time).filter(|_| depth < MAX_DEPTH);
        let Some((id, child)) = child else {
            self.push(operation.label, (from, to), depth, None, segments);
            return from;
        };
        let end = child.end.min(to);
        self.push(operation.label, (end, to), depth, None, segments);
        let begin = child.begin.clamp(from, end);
        self.follow(id, (begin, end), depth + 1, segments);
        // A child without length would be found again.
        if begin == to {
            self.push(operation.label, (from, to), depth, None, segments);
            return from;
        }
        begin
    }

    /// Returns the operation that one waited for: of those that it has made,
    /// the last to be over by the end of the poll behind the wait, which is
    /// where children that are polled by it come to their end; else the one
    /// that has the longest poll within that poll.
    fn awaited(&self, operation: &Operation, time: (u64, u64)) -> Option<(u64, &Operation)> {
        let (from, to) = time;
        let next = operation.polls.partition_point(|poll| poll.begin < to);
        let next = operation.polls.get(next).filter(|poll| poll.begin == to);
        let woken = (to, next.map_or(to, |poll| poll.end));
        let children = operation.children.iter().filter_map(|id| Some((*id, self.by_id.get(id)?)));
        let alive = children.filter(|(_, child)| child.end > from && child.begin < to);
        let over = alive.clone().filter(|(_, child)| child.end <= woken.1);
        over.max_by_key(|(_, child)| child.end).or_else(|| {
            let polled = alive.map(|(id, child)| (child.longest_poll(woken), id, child));
            let longest = polled.max_by_key(|(length, _, _)| *length);
            longest.filter(|(length, _, _)| *length > 0).map(|(_, id, child)| (id, child))
        })
    }

    fn push(
        &self,
        label: LabelId,
        time: (u64, u64),
        depth: usize,
        thread: Option<ThreadKoids>,
        segments: &mut Vec<Segment>,
    ) {
        let (from, to) = time;
        if from < to {
            let category = self.catalog.category(label).to_owned();
            let name = self.catalog.name(label).to_owned();
            segments.push(Segment { from, to, depth, category, name, thread });
        }
    }
}
