//! The path through operations that were read.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::links::Message;
use super::{Operation, Operations, Poll};
use crate::catalog::LabelId;
use crate::critical::flow::Point;
use crate::critical::{Member, Part, Segment, Wait};

/// The most operations within one another on a path.
pub(super) const MAX_DEPTH: usize = 64;

/// The most segments of a path. The time before them is one wait.
const MAX_SEGMENTS: usize = 1 << 20;

/// A path, from its end.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) segments: Vec<Segment>,
    /// The operations by place, with a number that is greater for an earlier one, and the depth.
    operations: HashMap<usize, (usize, usize)>,
    /// The next number.
    next: usize,
}

impl Steps {
    /// Notes an operation whose path is complete: all operations in it have lower numbers.
    fn note(&mut self, place: usize, depth: usize) {
        self.operations.insert(place, (self.next, depth));
        self.next += 1;
    }
}

impl Operation {
    /// Returns the first poll that begins at a time, or until `latest`.
    fn next_poll(&self, time: u64, latest: u64) -> Option<&Poll> {
        let next = self.polls.get(self.polls.partition_point(|poll| poll.begin < time));
        next.filter(|poll| poll.begin <= latest)
    }

    /// Returns the reason of a wait between two times before the poll `next`, without a child or a
    /// message.
    fn wait(&self, (from, to): (u64, u64), next: Option<&Poll>) -> Wait {
        let has_run = self.polls.first().is_some_and(|poll| poll.begin < from);
        match next {
            Some(_) if !has_run => Wait::Start,
            None if has_run && self.end == Some(to) => Wait::End,
            _ => Wait::Unknown,
        }
    }
}

impl Operations {
    /// Follows an operation from the end of a time to its begin, and adds segments in that order.
    ///
    /// `woken` is the end of the parent's poll that follows the time, or the end of the time: a
    /// poll in the parent's poll begins after that one.
    pub(super) fn follow(
        &self,
        place: usize,
        time: (u64, u64),
        mut woken: u64,
        depth: usize,
        steps: &mut Steps,
    ) {
        let Some(operation) = self.list.get(place) else { return };
        let (from, mut now) = time;
        while now > from && steps.segments.len() < MAX_SEGMENTS {
            let before = operation.polls.partition_point(|poll| poll.begin < now);
            // Polls of one operation do not overlap.
            let poll = before.checked_sub(1).and_then(|place| operation.polls.get(place));
            let poll = poll.filter(|poll| poll.end > from);
            if let Some(poll) = poll.filter(|poll| poll.end >= now) {
                let begin = poll.begin.max(from);
                self.push(
                    (operation.label, Some(operation.id)),
                    (begin, now),
                    depth,
                    Part::Runs(poll.thread),
                    steps,
                );
                (now, woken) = (begin, begin);
                continue;
            }
            let waits_from = poll.map_or(from, |poll| poll.end.max(from));
            let next = operation.next_poll(now, woken);
            let begin = self.wait(operation, (waits_from, now), next, depth, steps);
            if begin >= now {
                // The rest is one wait: the same child or message would be found again.
                break;
            }
            (now, woken) = (begin, begin);
        }
        let rest = Part::Waits(Wait::Unknown);
        self.push((operation.label, Some(operation.id)), (from, now), depth, rest, steps);
        if from < time.1 {
            steps.note(place, depth);
        }
    }

    /// Returns the operations of a path in the order of time, an outer one before those in it.
    pub(super) fn members(&self, steps: &Steps) -> Vec<Member> {
        let mut places: Vec<_> = steps.operations.iter().collect();
        places.sort_unstable_by_key(|(_, (number, _))| Reverse(*number));
        let member = |(place, (_, depth)): (&usize, &(usize, usize))| {
            let operation = self.list.get(*place)?;
            let (category, name) = self.text(operation.label);
            Some(Member::new(category, name, operation.id, *depth))
        };
        places.into_iter().filter_map(member).collect()
    }

    fn text(&self, label: LabelId) -> (&str, &str) {
        (self.catalog.category(label), self.catalog.name(label))
    }

    /// Follows the child that an operation waited for before its poll `next`. Returns the child's
    /// begin.
    fn wait(
        &self,
        operation: &Operation,
        time: (u64, u64),
        next: Option<&Poll>,
        depth: usize,
        steps: &mut Steps,
    ) -> u64 {
        let (from, to) = time;
        let woken = next.map_or(to, |poll| poll.end);
        let child = self.awaited(operation, time, woken).filter(|_| depth < MAX_DEPTH);
        let Some((place, child)) = child else {
            return self.receive(operation, time, next, depth, steps);
        };
        let end = child.end().min(to);
        let is_end = next.is_none() && operation.end == Some(to);
        let wait = if is_end { Wait::End } else { Wait::Continue };
        let label = (operation.label, Some(operation.id));
        self.push(label, (end, to), depth, Part::Waits(wait), steps);
        let begin = child.begin.clamp(from, end);
        // The child's last poll may be in the parent's next one.
        let woken = if end == to { woken } else { end };
        self.follow(place, (begin, end), woken, depth + 1, steps);
        begin
    }

    /// Follows the message that an operation received in the poll after a wait. If it was sent
    /// during the wait, the duration around its sending ran for the operation. Returns the
    /// duration's begin.
    fn receive(
        &self,
        operation: &Operation,
        (from, to): (u64, u64),
        next: Option<&Poll>,
        depth: usize,
        steps: &mut Steps,
    ) -> u64 {
        let message = next.and_then(|poll| {
            let at = |nanos| Point { koids: poll.thread, nanos };
            let messages = self.messages.iter();
            let first = self.messages.partition_point(|message| message.received < at(poll.begin));
            let in_poll = messages.skip(first).take_while(|it| it.received <= at(poll.end));
            let meanwhile = in_poll.filter(|it| it.sent.nanos > from && it.sent.nanos < to);
            meanwhile.max_by_key(|message| message.sent.nanos)
        });
        let Some(Message { sent, label, .. }) = message else {
            let wait = Part::Waits(operation.wait((from, to), next));
            self.push((operation.label, Some(operation.id)), (from, to), depth, wait, steps);
            return from;
        };
        let wait = Part::Waits(Wait::Receipt);
        self.push((*label, None), (sent.nanos, to), depth + 1, wait, steps);
        let Some(around) = self.around.get(sent) else { return sent.nanos };
        let begin = around.begin.max(from);
        let part = Part::Runs(sent.koids);
        self.push((around.label, None), (begin, sent.nanos), depth + 1, part, steps);
        begin
    }

    /// Returns the child that an operation waited for: the last one that ended by the end of the
    /// poll after the wait, else the one with the longest poll within that poll.
    ///
    /// The search covers the children that ended, or were polled, within that poll.
    fn awaited(
        &self,
        operation: &Operation,
        (from, to): (u64, u64),
        woken: u64,
    ) -> Option<(usize, &Operation)> {
        let child = |place: &usize| self.list.get(*place).map(|child| (*place, child));

        let ended = operation
            .children
            .partition_point(|place| child(place).is_some_and(|(_, child)| child.end() <= woken));
        let ended = operation.children.iter().take(ended).rev().filter_map(child);
        let mut ended = ended.take_while(|(_, child)| child.end() > from);
        if let Some(last) = ended.find(|(_, child)| child.begin < to) {
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
        (label, id): (LabelId, Option<u64>),
        time: (u64, u64),
        depth: usize,
        part: Part,
        steps: &mut Steps,
    ) {
        Segment::push(&mut steps.segments, time, depth, self.text(label), id, part);
    }
}
