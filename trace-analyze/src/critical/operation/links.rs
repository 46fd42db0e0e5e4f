//! The events that connect operations, and that connect operations with threads.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record};

use super::{is_meanwhile, Poll};
use crate::arguments;
use crate::catalog::{Catalog, LabelId};
use crate::critical::flow::Point;
use crate::critical::Chosen;
use crate::pairing::MAX_SEARCH;
use crate::Damage;

/// The most points of flows.
const MAX_FLOW_POINTS: usize = 1 << 20;

/// The links between the operations of one process, up to the end of the chosen one.
#[derive(Debug, Default)]
pub(super) struct Links {
    operations: HashSet<u64>,
    /// The ids of operations by that of their parent.
    children: HashMap<u64, Vec<u64>>,
    /// The begins without the argument `parent`, sorted, with the id of the operation.
    orphans: Vec<(Point, u64)>,
    /// The parents of orphans that began in a poll.
    adopted: HashMap<u64, u64>,
    /// The begins and labels of marked polls, with the id of the operation.
    marks: Vec<(Point, LabelId, u64)>,
    /// The points of flows that are not those of an operation's polls.
    flows: Vec<FlowPoint>,
    catalog: Catalog,
}

/// A point of a flow.
#[derive(Debug, Clone, Copy)]
struct FlowPoint {
    id: u64,
    point: Point,
    label: LabelId,
}

/// A message that an operation received during a poll.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) sent: Point,
    pub(super) received: Point,
    /// The label of the flow, in [`Links::catalog`].
    pub(super) label: LabelId,
}

impl Poll {
    fn begin_point(&self) -> Point {
        Point { koids: self.thread, nanos: self.begin }
    }

    /// Returns whether a point is on its thread, and not after its end.
    fn holds(&self, point: Point) -> bool {
        self.thread == point.koids && point.nanos <= self.end
    }
}

/// Removes the innermost polls that end before a point.
fn close_before(open: &mut Vec<&(u64, Poll)>, point: Point) {
    while open.last().is_some_and(|(_, poll)| !poll.holds(point)) {
        open.pop();
    }
}

impl Links {
    pub(super) fn read<R: Read>(chosen: &Chosen, reader: Reader<R>) -> Result<Self, ReadError> {
        let mut links = Self::default();
        Damage::of_all(reader, |item| {
            links.catalog.note(item);
            if let Record::Event(event) = &item.record {
                links.event(chosen, item, event);
            }
        })?;
        let Self { operations, flows, orphans, .. } = &mut links;
        flows.retain(|flow| !operations.contains(&flow.id));
        flows.sort_by_key(|flow| (flow.id, flow.point.nanos));
        orphans.sort_unstable();
        Ok(links)
    }

    fn event(&mut self, chosen: &Chosen, item: &Item<'_>, event: &Event<'_>) {
        if !is_meanwhile(chosen, item, event) {
            return;
        }
        let point = Point::of(item, event);
        match event.kind {
            EventKind::AsyncBegin { id } => {
                self.operations.insert(id);
                match arguments::named_unsigned(item, &event.arguments, "parent") {
                    Some(parent) => self.children.entry(parent).or_default().push(id),
                    None if id != chosen.id => self.orphans.push((point, id)),
                    None => {}
                }
            }
            EventKind::AsyncInstant { id } => {
                let is_mark =
                    event.arguments.iter().any(|each| item.text(each.name) == "poll-count");
                if is_mark {
                    let label = self.catalog.label(item, event.category, event.name);
                    self.marks.push((point, label, id));
                }
            }
            EventKind::FlowBegin { id }
            | EventKind::FlowStep { id }
            | EventKind::FlowEnd { id }
                if self.flows.len() < MAX_FLOW_POINTS && !self.operations.contains(&id) =>
            {
                let label = self.catalog.label(item, event.category, event.name);
                self.flows.push(FlowPoint { id, point, label });
            }
            _ => {}
        }
    }

    /// Returns the ids of an operation and its descendants.
    pub(super) fn family(&self, id: u64) -> HashSet<u64> {
        let (mut family, mut next) = (HashSet::from([id]), vec![id]);
        while let Some(parent) = next.pop() {
            let children = self.children.get(&parent).into_iter().flatten();
            next.extend(children.filter(|child| family.insert(**child)));
        }
        family
    }

    /// Returns the operations of the family's marked polls, by begin and label of `catalog`.
    pub(super) fn marks(
        &self,
        family: &HashSet<u64>,
        catalog: &mut Catalog,
    ) -> HashMap<(Point, LabelId), u64> {
        let marks = self.marks.iter().filter(|(.., id)| family.contains(id));
        marks.map(|(point, label, id)| ((*point, self.label_in(catalog, *label)), *id)).collect()
    }

    /// Returns the label of another catalog that is equal to one of [`Links::catalog`].
    pub(super) fn label_in(&self, catalog: &mut Catalog, label: LabelId) -> LabelId {
        let category = catalog.intern(self.catalog.category(label));
        let name = catalog.intern(self.catalog.name(label));
        catalog.label_of(category, name)
    }

    /// Makes operations that began in one of these polls, and have no parent, children of the
    /// innermost poll's operation. Returns whether there are any.
    pub(super) fn adopt(&mut self, polls: &[(u64, Poll)]) -> bool {
        let mut parents = self.innermost(polls).into_iter();
        let Self { orphans, children, adopted, .. } = self;
        let number = orphans.len();
        orphans.retain(|(_, id)| {
            let Some(parent) = parents.next().flatten() else { return true };
            children.entry(parent).or_default().push(*id);
            adopted.insert(*id, parent);
            false
        });
        orphans.len() < number
    }

    /// Returns the operation of the innermost poll around the begin of each orphan, if it is
    /// another one.
    fn innermost(&self, polls: &[(u64, Poll)]) -> Vec<Option<u64>> {
        let mut polls: Vec<&(u64, Poll)> = polls.iter().collect();
        polls.sort_by_key(|(_, poll)| (poll.thread, poll.begin, Reverse(poll.end)));
        let mut polls = polls.into_iter().peekable();
        let mut open: Vec<&(u64, Poll)> = Vec::new();
        let parent = |(point, id): &(Point, u64)| {
            while let Some(poll) = polls.next_if(|(_, poll)| poll.begin_point() <= *point) {
                close_before(&mut open, poll.1.begin_point());
                open.push(poll);
            }
            close_before(&mut open, *point);
            let around = open.iter().rev().take(MAX_SEARCH).filter(|(_, poll)| poll.holds(*point));
            around.map(|(parent, _)| *parent).find(|parent| parent != id)
        };
        self.orphans.iter().map(parent).collect()
    }

    /// Returns the parent of an operation that has no argument `parent`.
    pub(super) fn adopted_by(&self, id: u64) -> Option<u64> {
        self.adopted.get(&id).copied()
    }

    /// Returns the messages that arrive in one of these polls, by thread and time.
    pub(super) fn messages(&self, polls: &[(u64, Poll)]) -> Vec<Message> {
        let steps = self.flows.windows(2).filter_map(|pair| match pair {
            [sent, received] if sent.id == received.id => {
                Some(Message { sent: sent.point, received: received.point, label: sent.label })
            }
            _ => None,
        });
        let mut messages: Vec<Message> = steps.collect();
        messages.sort_by_key(|message| message.received);
        let mut is_in_poll = vec![false; messages.len()];
        for (_, poll) in polls {
            let at = |nanos| Point { koids: poll.thread, nanos };
            let from = messages.partition_point(|message| message.received < at(poll.begin));
            let to = messages.partition_point(|message| message.received <= at(poll.end));
            let in_poll = is_in_poll.get_mut(from..to).unwrap_or_default();
            in_poll.iter_mut().for_each(|is_in| *is_in = true);
        }
        let mut is_in_poll = is_in_poll.into_iter();
        messages.retain(|_| is_in_poll.next().unwrap_or(false));
        messages
    }
}
