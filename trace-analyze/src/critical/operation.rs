//! The path of an async operation.
//!
//! An archive can have millions of operations at a time. Memory has only the chosen one and its
//! descendants.

mod follow;
mod links;

use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

use super::choose::MAX_WAITING;
use super::flow::{Innermost, Point};
use super::{Chosen, Path};
use crate::arguments;
use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing};
use crate::spans::Spans;
use crate::Damage;
use follow::{Steps, MAX_DEPTH};
use links::{Links, Message};

/// An operation that began during the chosen one.
#[derive(Debug)]
struct Operation {
    id: u64,
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
    /// The operations of marked polls, by begin and label.
    marks: HashMap<(Point, LabelId), u64>,
    catalog: Catalog,
    list: Vec<Operation>,
    /// Places by id.
    places: HashMap<u64, usize>,
    /// The id, the begin and the parent's id of each operation with a parent.
    parents: Vec<(u64, u64, u64)>,
    pairing: Pairing<u64>,
    /// The durations with a begin and an end, with their operation, or 0.
    scopes: Pairing<(u64, ThreadKoids)>,
    polls: Vec<(u64, Poll)>,
    /// The events of operations.
    points: Vec<(u64, Point)>,
    /// The messages that the operations received, by thread and time.
    messages: Vec<Message>,
    /// The innermost durations around points and messages.
    around: HashMap<Point, Around>,
}

/// A duration around a point.
#[derive(Debug, Clone, Copy)]
struct Around {
    begin: u64,
    end: u64,
    label: LabelId,
}

/// Returns the path of an operation, and the operations in it.
pub(super) fn path<R: Read, E: From<ReadError>>(
    chosen: &Chosen,
    mut open: impl FnMut() -> Result<Reader<R>, E>,
) -> Result<Path, E> {
    let mut links = Links::read(chosen, open()?)?;
    // An operation in more others than this is not on the path.
    let mut generations = 0..MAX_DEPTH;
    let mut operations = loop {
        let mut operations = Operations::new(links.family(chosen.id), &links);
        operations.read(chosen, &links, open()?)?;
        if generations.next().is_none() || !links.adopt(&operations.polls) {
            break operations;
        }
    };
    let points = operations.unpolled_points();
    operations.read_around(points, open()?)?;
    operations.add_polls_around_points();
    operations.messages = links.messages(&operations.polls);
    let sent = operations.messages.iter().map(|message| message.sent).collect();
    operations.read_around(sent, open()?)?;
    operations.finish(&links);
    let mut steps = Steps::default();
    if let Some(place) = operations.places.get(&chosen.id) {
        operations.follow(*place, (chosen.begin, chosen.end), chosen.end, 0, &mut steps);
    }
    let members = operations.members(&steps);
    let mut segments = steps.segments;
    segments.reverse();
    Ok(Path::new(chosen, segments, members))
}

impl Operation {
    fn new(id: u64, label: LabelId, begin: u64) -> Self {
        let (polls, children, polls_of_children) = Default::default();
        Self { id, label, begin, end: None, polls, children, polls_of_children }
    }

    /// Adds a poll that does not end before the others. Where polls overlap, the later one runs.
    fn add_poll(&mut self, poll: Poll) {
        while self.polls.last().is_some_and(|last| last.begin >= poll.begin) {
            self.polls.pop();
        }
        if let Some(last) = self.polls.last_mut() {
            last.end = last.end.min(poll.begin);
        }
        self.polls.push(poll);
    }

    /// Returns its end, or the last time if it has none.
    fn end(&self) -> u64 {
        self.end.unwrap_or(u64::MAX)
    }
}

/// Returns whether an event is of the chosen operation's process, and not after its end.
fn is_meanwhile(chosen: &Chosen, item: &Item<'_>, event: &Event<'_>) -> bool {
    item.thread(event.thread).process == chosen.process && item.nanos(event.ticks) <= chosen.end
}

impl Operations {
    fn new(family: HashSet<u64>, links: &Links) -> Self {
        let mut catalog = Catalog::default();
        Self {
            marks: links.marks(&family, &mut catalog),
            family,
            catalog,
            list: Vec::new(),
            places: HashMap::new(),
            parents: Vec::new(),
            pairing: Pairing::new(MAX_WAITING),
            scopes: Pairing::new(MAX_WAITING),
            polls: Vec::new(),
            points: Vec::new(),
            messages: Vec::new(),
            around: HashMap::new(),
        }
    }

    fn read<R: Read>(
        &mut self,
        chosen: &Chosen,
        links: &Links,
        reader: Reader<R>,
    ) -> Result<(), ReadError> {
        Damage::of_all(reader, |item| {
            self.catalog.note(item);
            if let Record::Event(event) = &item.record {
                if is_meanwhile(chosen, item, event) {
                    self.event(chosen, links, item, event);
                }
            }
        })?;
        let pairing = std::mem::replace(&mut self.pairing, Pairing::new(0));
        let outcomes: Vec<_> = pairing.finish(&self.catalog).collect();
        outcomes.into_iter().for_each(|outcome| self.outcome(outcome));
        let scopes = std::mem::replace(&mut self.scopes, Pairing::new(0));
        let outcomes: Vec<_> = scopes.finish(&self.catalog).collect();
        outcomes.into_iter().for_each(|outcome| self.scope(chosen, outcome));
        Ok(())
    }

    fn event(&mut self, chosen: &Chosen, links: &Links, item: &Item<'_>, event: &Event<'_>) {
        let point = Point::of(item, event);
        match event.kind {
            EventKind::AsyncBegin { id }
            | EventKind::AsyncInstant { id }
            | EventKind::AsyncEnd { id }
                if point.nanos >= chosen.begin && self.family.contains(&id) =>
            {
                self.points.push((id, point));
                self.edge(item, event, id);
                if matches!(event.kind, EventKind::AsyncBegin { .. }) {
                    let parent = arguments::named_unsigned(item, &event.arguments, "parent");
                    let parent = parent.or_else(|| links.adopted_by(id));
                    self.parents.extend(parent.map(|parent| (id, point.nanos, parent)));
                }
            }
            EventKind::DurationComplete { end } => {
                let end = item.nanos(end).max(point.nanos);
                if end >= chosen.begin {
                    let task = self.task(item, event);
                    self.poll(task, point, end);
                }
            }
            EventKind::DurationBegin | EventKind::DurationEnd => {
                let task = self.task(item, event).unwrap_or(0);
                let value = (task, point.koids);
                let Some(edge) = Edge::of(&mut self.catalog, item, event, value) else { return };
                let outcomes: Vec<_> = self.scopes.push(&self.catalog, edge).collect();
                outcomes.into_iter().for_each(|outcome| self.scope(chosen, outcome));
            }
            _ => {}
        }
    }

    /// Returns the operation of a poll.
    fn task(&mut self, item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
        let task = arguments::named_unsigned(item, &event.arguments, "task");
        let task = task.or_else(|| {
            let label = self.catalog.label(item, event.category, event.name);
            self.marks.get(&(Point::of(item, event), label)).copied()
        })?;
        self.family.contains(&task).then_some(task)
    }

    fn scope(&mut self, chosen: &Chosen, outcome: Outcome<(u64, ThreadKoids)>) {
        let Outcome::Pair { begin, end } = outcome else { return };
        let (task, koids) = begin.value;
        if end.nanos >= chosen.begin {
            let begin = Point { koids, nanos: begin.nanos };
            self.poll(Some(task).filter(|task| *task != 0), begin, end.nanos);
        }
    }

    fn poll(&mut self, task: Option<u64>, begin: Point, end: u64) {
        let poll = Poll { begin: begin.nanos, end, thread: begin.koids };
        self.polls.extend(task.map(|task| (task, poll)));
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
            self.list.push(Operation::new(begin.value, begin.label, begin.nanos));
        }
        let Some(operation) = self.list.get_mut(place) else { return };
        if begin.nanos < operation.begin {
            (operation.label, operation.begin) = (begin.label, begin.nanos);
        }
        operation.end = operation.end.max(end);
    }

    /// Returns the points of operations without polls. The other points are removed.
    fn unpolled_points(&mut self) -> HashSet<Point> {
        let polled: HashSet<u64> = self.polls.iter().map(|(id, _)| *id).collect();
        self.points.retain(|(id, _)| !polled.contains(id));
        self.points.iter().map(|(_, point)| *point).collect()
    }

    /// Reads the innermost durations around points.
    fn read_around<R: Read>(
        &mut self,
        points: HashSet<Point>,
        reader: Reader<R>,
    ) -> Result<(), ReadError> {
        if points.is_empty() {
            return Ok(());
        }
        let mut innermost = Innermost::new(points.into_iter().collect());
        let mut spans = Spans::default();
        Damage::of_all(reader, |item| spans.record(item).for_each(|span| innermost.look(&span)))?;
        spans.finish().for_each(|span| innermost.look(&span));
        for (point, around) in innermost.into_points() {
            let Some(span) = around else { continue };
            let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
            let category = self.catalog.intern(spans.catalog().category(span.label));
            let name = self.catalog.intern(spans.catalog().name(span.label));
            let label = self.catalog.label_of(category, name);
            self.around.insert(point, Around { begin, end, label });
        }
        Ok(())
    }

    /// Makes the durations around the points of operations without polls their polls.
    fn add_polls_around_points(&mut self) {
        for (id, point) in std::mem::take(&mut self.points) {
            let Some(Around { begin, end, .. }) = self.around.get(&point).copied() else {
                continue;
            };
            if let Some(operation) = self.of_id(id) {
                let (begin, end) = (begin.max(operation.begin), end.min(operation.end()));
                let poll = Poll { begin, end, thread: point.koids };
                self.polls.push((id, poll));
            }
        }
    }

    /// Adds polls and children to their operations.
    fn finish(&mut self, links: &Links) {
        for message in &mut self.messages {
            message.label = links.label_in(&mut self.catalog, message.label);
        }
        self.polls.sort_by_key(|(_, poll)| (poll.end, poll.begin));
        for (id, poll) in std::mem::take(&mut self.polls) {
            if let Some(operation) = self.of_id(id) {
                operation.add_poll(poll);
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
