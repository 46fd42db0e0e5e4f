//! The path of an async operation.
//!
//! An archive can have millions of operations at a time. Memory has only the chosen one and its
//! descendants.

mod follow;

use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

use super::choose::MAX_WAITING;
use super::{Chosen, Segment};
use crate::arguments;
use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing};
use crate::Damage;

/// An operation that began during the chosen one.
#[derive(Debug)]
struct Operation {
    label: LabelId,
    begin: u64,
    end: Option<u64>,
    /// Its polls, by end.
    polls: Vec<Poll>,
    /// The places of its children, by end.
    children: Vec<usize>,
    /// The polls of its children with their places, by begin.
    polls_of_children: Vec<(Poll, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct Poll {
    begin: u64,
    end: u64,
    thread: ThreadKoids,
}

/// The operations of one process. Their events may come in any order.
#[derive(Debug)]
struct Operations {
    /// The ids of the chosen operation and its descendants.
    family: HashSet<u64>,
    catalog: Catalog,
    list: Vec<Operation>,
    /// Places by id.
    places: HashMap<u64, usize>,
    /// The id, the begin and the parent's id of each operation with a parent.
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

    /// Returns its end, or the last time if it has none.
    fn end(&self) -> u64 {
        self.end.unwrap_or(u64::MAX)
    }
}

/// Returns the ids of the chosen operation and its descendants.
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

/// Returns whether an event is of the chosen operation's process, and not after its end.
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
                let task = || arguments::named_unsigned(item, &event.arguments, "task");
                let task = (end >= chosen.begin).then(task).flatten();
                let task = task.filter(|task| self.family.contains(task));
                self.polls.extend(task.map(|task| (task, Poll { begin, end, thread })));
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

    /// Adds an operation. Operations of one id are parts of one: the last end counts.
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

    /// Adds polls and children to their operations.
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
}
