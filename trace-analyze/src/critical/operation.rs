//! The path of an async operation.
//!
//! An archive can have millions of operations at a time. Only those that the one has made, and
//! those that they have made, are held.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

use super::choose::MAX_WAITING;
use super::{Chosen, Segment};
use crate::arguments;
use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing};
use crate::Damage;

/// The most operations within one another that a path goes into.
const MAX_DEPTH: usize = 64;

/// The most segments of a path; what is before them is one wait.
const MAX_SEGMENTS: usize = 1 << 20;

/// An operation of the time that is looked at.
#[derive(Debug)]
struct Operation {
    label: LabelId,
    begin: u64,
    end: Option<u64>,
    /// Its polls by their end.
    polls: Vec<Poll>,
    /// The places of the operations whose parent it is, by their end.
    children: Vec<usize>,
    /// Their polls by their begin, with their places.
    polls_of_children: Vec<(Poll, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct Poll {
    begin: u64,
    end: u64,
    thread: ThreadKoids,
}

/// Operations of one process. Their events may come in any order.
#[derive(Debug)]
struct Operations {
    /// The ids of the operations that are held.
    family: HashSet<u64>,
    catalog: Catalog,
    list: Vec<Operation>,
    /// Places by id.
    places: HashMap<u64, usize>,
    /// Ids of operations, when they began, and the ids of their parents.
    parents: Vec<(u64, u64, u64)>,
    pairing: Pairing<u64>,
    polls: Vec<(u64, Poll)>,
}

/// Returns the path of an operation.
pub(super) fn path<R: Read>(
    chosen: &Chosen,
    family: HashSet<u64>,
    reader: Reader<R>,
) -> Result<Vec<Segment>, ReadError> {
    let mut operations = Operations::new(family);
    Damage::of_all(reader, |item| {
        operations.catalog.note(item);
        if let Record::Event(event) = &item.record {
            operations.event(chosen, item, event);
        }
    })?;
    operations.finish();
    let mut segments = Vec::new();
    if let Some(place) = operations.places.get(&chosen.id) {
        operations.follow(*place, (chosen.begin, chosen.end), 0, &mut segments);
    }
    segments.reverse();
    Ok(segments)
}

impl Operation {
    fn new(label: LabelId, begin: u64) -> Self {
        let (polls, children, polls_of_children) = Default::default();
        Self { label, begin, end: None, polls, children, polls_of_children }
    }

    /// Returns when it was over, if that is in the time.
    fn end(&self) -> u64 {
        self.end.unwrap_or(u64::MAX)
    }
}

/// Returns the ids of the operation, of those that it has made, of those that they have made, and
/// so on.
pub(super) fn family<R: Read>(
    chosen: &Chosen,
    reader: Reader<R>,
) -> Result<HashSet<u64>, ReadError> {
    let mut children: HashMap<u64, Vec<u64>> = HashMap::new();
    Damage::of_all(reader, |item| {
        let Record::Event(event) = &item.record else { return };
        let EventKind::AsyncBegin { id } = event.kind else { return };
        if is_meanwhile(chosen, item, event) {
            if let Some(parent) = arguments::named_unsigned(item, &event.arguments, "parent") {
                children.entry(parent).or_default().push(id);
            }
        }
    })?;
    let (mut family, mut next) = (HashSet::from([chosen.id]), vec![chosen.id]);
    while let Some(parent) = next.pop() {
        let children = children.remove(&parent).unwrap_or_default();
        next.extend(children.into_iter().filter(|child| family.insert(*child)));
    }
    Ok(family)
}

/// Tells whether an event is of the process of the chosen operation, and not behind its end.
fn is_meanwhile(chosen: &Chosen, item: &Item<'_>, event: &Event<'_>) -> bool {
    item.thread(event.thread).process == chosen.process && item.nanos(event.ticks) <= chosen.end
}

impl Operations {
    fn new(family: HashSet<u64>) -> Self {
        Self {
            family,
            catalog: Catalog::default(),
            list: Vec::new(),
            places: HashMap::new(),
            parents: Vec::new(),
            pairing: Pairing::new(MAX_WAITING),
            polls: Vec::new(),
        }
    }

    fn event(&mut self, chosen: &Chosen, item: &Item<'_>, event: &Event<'_>) {
        let nanos = item.nanos(event.ticks);
        let thread = item.thread(event.thread);
        if !is_meanwhile(chosen, item, event) {
            return;
        }
        match event.kind {
            EventKind::AsyncBegin { id } | EventKind::AsyncEnd { id }
                if !self.family.contains(&id) => {}
            EventKind::AsyncBegin { id } if nanos >= chosen.begin => {
                self.edge(item, event, id);
                if let Some(parent) = arguments::named_unsigned(item, &event.arguments, "parent") {
                    self.parents.push((id, nanos, parent));
                }
            }
            EventKind::AsyncEnd { id } if nanos >= chosen.begin => self.edge(item, event, id),
            EventKind::DurationComplete { end } => {
                let (begin, end) = (nanos, item.nanos(end).max(nanos));
                if end >= chosen.begin {
                    if let Some(task) = arguments::named_unsigned(item, &event.arguments, "task") {
                        if self.family.contains(&task) {
                            self.polls.push((task, Poll { begin, end, thread }));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn edge(&mut self, item: &Item<'_>, event: &Event<'_>, id: u64) {
        let Some(edge) = Edge::of(&mut self.catalog, item, event, id) else { return };
        let outcomes: Vec<_> = self.pairing.push(&self.catalog, edge).collect();
        outcomes.into_iter().for_each(|outcome| self.outcome(outcome));
    }

    fn outcome(&mut self, outcome: Outcome<u64>) {
        match outcome {
            Outcome::Pair { begin, end } => self.operation(&begin, Some(end.nanos)),
            Outcome::Unpaired(begin) if !begin.is_end => self.operation(&begin, None),
            Outcome::Unpaired(_) | Outcome::Cut { .. } => {}
        }
    }

    /// Takes an operation. Others with the same id are parts of it: the last end counts.
    fn operation(&mut self, begin: &Edge<u64>, end: Option<u64>) {
        let next = self.list.len();
        let place = *self.places.entry(begin.value).or_insert(next);
        if place == next {
            self.list.push(Operation::new(begin.label, begin.nanos));
        }
        let Some(operation) = self.list.get_mut(place) else { return };
        if begin.nanos < operation.begin {
            (operation.label, operation.begin) = (begin.label, begin.nanos);
        }
        operation.end = operation.end.max(end);
    }

    /// Puts together what belongs together.
    fn finish(&mut self) {
        let pairing = std::mem::replace(&mut self.pairing, Pairing::new(0));
        let outcomes: Vec<_> = pairing.finish(&self.catalog).collect();
        outcomes.into_iter().for_each(|outcome| self.outcome(outcome));
        self.polls.sort_by_key(|(_, poll)| poll.end);
        for (id, poll) in std::mem::take(&mut self.polls) {
            if let Some(operation) = self.of_id(id) {
                operation.polls.push(poll);
            }
        }
        // The first parent counts.
        self.parents.sort_unstable();
        self.parents.dedup_by_key(|(id, ..)| *id);
        for (id, _, parent) in std::mem::take(&mut self.parents) {
            let place = self.places.get(&id).copied();
            if let Some((parent, place)) = self.of_id(parent).zip(place) {
                parent.children.push(place);
            }
        }
        for place in 0..self.list.len() {
            self.sort_children(place);
        }
    }

    fn of_id(&mut self, id: u64) -> Option<&mut Operation> {
        self.list.get_mut(*self.places.get(&id)?)
    }

    fn sort_children(&mut self, place: usize) {
        let Some(operation) = self.list.get_mut(place) else { return };
        let mut children = std::mem::take(&mut operation.children);
        children.sort_by_key(|child| self.list.get(*child).map(Operation::end));
        let polls_of = |child: &usize| {
            let child = *child;
            let polls = self.list.get(child).map_or(&[][..], |operation| &operation.polls);
            polls.iter().map(move |poll| (*poll, child))
        };
        let mut polls: Vec<(Poll, usize)> = children.iter().flat_map(polls_of).collect();
        polls.sort_by_key(|(poll, _)| poll.begin);
        if let Some(operation) = self.list.get_mut(place) {
            (operation.children, operation.polls_of_children) = (children, polls);
        }
    }

    /// Follows an operation from the end of a time to its begin; the segments
    /// come in that order.
    fn follow(&self, place: usize, time: (u64, u64), depth: usize, segments: &mut Vec<Segment>) {
        let Some(operation) = self.list.get(place) else { return };
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
        let Some((place, child)) = child else {
            self.push(operation.label, (from, to), depth, None, segments);
            return from;
        };
        let end = child.end().min(to);
        self.push(operation.label, (end, to), depth, None, segments);
        let begin = child.begin.clamp(from, end);
        self.follow(place, (begin, end), depth + 1, segments);
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
    ///
    /// Only what is over, or polled, within that poll is looked at in vain.
    fn awaited(&self, operation: &Operation, time: (u64, u64)) -> Option<(usize, &Operation)> {
        let (from, to) = time;
        let next = operation.polls.partition_point(|poll| poll.begin < to);
        let next = operation.polls.get(next).filter(|poll| poll.begin == to);
        let woken = next.map_or(to, |poll| poll.end);
        let child = |place: &usize| self.list.get(*place).map(|child| (*place, child));

        let over = operation
            .children
            .partition_point(|place| child(place).is_some_and(|(_, child)| child.end() <= woken));
        let over = operation.children.iter().take(over).rev().filter_map(child);
        let mut over = over.take_while(|(_, child)| child.end() > from);
        if let Some(last) = over.find(|(_, child)| child.begin < to) {
            return Some(last);
        }

        let polls = &operation.polls_of_children;
        let polls = polls.iter().skip(polls.partition_point(|(poll, _)| poll.begin < to));
        let polled = polls
            .take_while(|(poll, _)| poll.begin < woken)
            .filter(|(poll, _)| poll.begin < poll.end && poll.end <= woken)
            .filter_map(|(poll, place)| Some((poll.end - poll.begin, child(place)?)))
            .filter(|(_, (_, child))| child.end() > from && child.begin < to);
        polled.max_by_key(|(length, _)| *length).map(|(_, child)| child)
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
