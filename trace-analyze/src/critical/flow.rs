//! The path of a flow.

use std::io::Read;
use std::iter;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids};

use super::{Chosen, Part, Segment, Wait};
use crate::spans::{Span, Spans};
use crate::Damage;

/// A time on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Point {
    pub(super) koids: ThreadKoids,
    pub(super) nanos: u64,
}

impl Point {
    pub(super) fn of(item: &Item<'_>, event: &Event<'_>) -> Self {
        Self { koids: item.thread(event.thread), nanos: item.nanos(event.ticks) }
    }
}

/// Returns the begin, the steps and the end of a flow.
pub(super) fn points<R: Read>(chosen: &Chosen, reader: Reader<R>) -> Result<Vec<Point>, ReadError> {
    let mut points = Vec::new();
    Damage::of_all(reader, |item| {
        let Record::Event(event) = &item.record else { return };
        let (EventKind::FlowBegin { id } | EventKind::FlowStep { id } | EventKind::FlowEnd { id }) =
            event.kind
        else {
            return;
        };
        let nanos = item.nanos(event.ticks);
        // An end can have an empty category or name, as in [`pairing`](crate::pairing).
        let is_end = matches!(event.kind, EventKind::FlowEnd { .. });
        let is_same = |text: &str, of: &str| text == of || (is_end && text.is_empty());
        let is_point = id == chosen.id
            && (chosen.begin..=chosen.end).contains(&nanos)
            && is_same(&item.text(event.name), &chosen.name)
            && is_same(&item.text(event.category), &chosen.category);
        if is_point {
            points.push(Point::of(item, event));
        }
    })?;
    Ok(points)
}

/// Returns the durations and waits between the points.
pub(super) fn path<R: Read>(
    chosen: &Chosen,
    points: Vec<Point>,
    reader: Reader<R>,
) -> Result<Vec<Segment>, ReadError> {
    let mut spans = Spans::default();
    let mut innermost = Innermost::new(points);
    Damage::of_all(reader, |item| spans.record(item).for_each(|span| innermost.look(&span)))?;
    spans.finish().for_each(|span| innermost.look(&span));
    let mut points: Vec<(Point, Option<Span>)> = innermost.into_points().collect();
    points.sort_by_key(|(point, _)| point.nanos);
    let mut segments = Vec::new();
    for pair in points.windows(2) {
        let [(point, around), (next, _)] = pair else { continue };
        let mut from = point.nanos;
        if let Some(span) = around {
            let to = span.rate.to_nanos(span.end).min(next.nanos);
            let (category, name) =
                (spans.catalog().category(span.label), spans.catalog().name(span.label));
            let part = Part::Runs(point.koids);
            Segment::push(&mut segments, (from, to), 0, (category, name), None, part);
            from = to.max(from);
        }
        let label = (&*chosen.category, &*chosen.name);
        let part = Part::Waits(Wait::Receipt);
        Segment::push(&mut segments, (from, next.nanos), 0, label, Some(chosen.id), part);
    }
    Ok(segments)
}

/// The shortest duration around each point, on its thread.
///
/// A tree over the points, by thread and time. A duration is kept at the nodes whose points are all
/// in it, so that a duration around many points takes no longer.
pub(super) struct Innermost {
    points: Vec<Point>,
    /// The shortest duration of each node. The root is at 1, the children of `n` are at `2n` and
    /// `2n + 1`, and the points are at the end.
    nearest: Vec<Option<Span>>,
}

impl Innermost {
    pub(super) fn new(mut points: Vec<Point>) -> Self {
        points.sort();
        Self { nearest: vec![None; 2 * points.len()], points }
    }

    pub(super) fn look(&mut self, span: &Span) {
        let koids = span.koids;
        let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
        let (begin, end) = (Point { koids, nanos: begin }, Point { koids, nanos: end });
        let mut from = self.points.len() + self.points.partition_point(|point| *point < begin);
        let mut to = self.points.len() + self.points.partition_point(|point| *point <= end);
        while from < to {
            if from % 2 == 1 {
                self.keep(from, span);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                self.keep(to, span);
            }
            (from, to) = (from / 2, to / 2);
        }
    }

    fn keep(&mut self, place: usize, span: &Span) {
        if let Some(nearest) = self.nearest.get_mut(place) {
            if nearest.is_none_or(|nearest| span.nanos() < nearest.nanos()) {
                *nearest = Some(*span);
            }
        }
    }

    /// Returns the points with the durations around them.
    pub(super) fn into_points(self) -> impl Iterator<Item = (Point, Option<Span>)> {
        let places = self.points.len()..;
        iter::zip(self.points, places).map(move |(point, place)| {
            let above = iter::successors(Some(place), |place| Some(place / 2).filter(|up| *up > 0));
            let around = above.filter_map(|place| *self.nearest.get(place)?);
            (point, around.min_by_key(Span::nanos))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trace_format::TickRate;

    use super::*;
    use crate::catalog::{LabelId, ThreadId};

    fn span((thread, begin, length): (u64, u64, u64)) -> Span {
        Span {
            label: LabelId(0),
            thread: ThreadId(0),
            koids: ThreadKoids::new(1, thread),
            rate: TickRate::default(),
            begin,
            end: begin + length,
            self_ticks: 0,
            role: crate::spans::Role::Duration,
            begin_value: (),
            end_value: (),
        }
    }

    proptest! {
        #[test]
        fn the_innermost_duration_is_the_shortest_one(
            points in prop::collection::vec((0..3u64, 0..40u64), 0..20),
            spans in prop::collection::vec((0..3u64, 0..40u64, 0..20u64), 0..30),
        ) {
            let point = |(thread, nanos)| Point { koids: ThreadKoids::new(1, thread), nanos };
            let mut innermost = Innermost::new(points.into_iter().map(point).collect());
            let spans: Vec<Span> = spans.into_iter().map(span).collect();
            spans.iter().for_each(|span| innermost.look(span));
            for (point, around) in innermost.into_points() {
                let is_around = |span: &&Span| {
                    span.koids == point.koids && (span.begin..=span.end).contains(&point.nanos)
                };
                let shortest = spans.iter().filter(is_around).map(Span::nanos).min();
                prop_assert_eq!(around.as_ref().map(Span::nanos), shortest);
                prop_assert!(around.is_none_or(|span| is_around(&&span)));
            }
        }
    }

    /// The time must not grow with durations times points.
    #[test]
    fn many_durations_around_many_points() {
        let number = 200_000;
        let point = |nanos| Point { koids: ThreadKoids::new(1, 0), nanos };
        let mut innermost = Innermost::new((0..number).map(point).collect());
        (0..number).for_each(|begin| innermost.look(&span((0, begin, number))));
        assert!(innermost.into_points().all(|(_, around)| around.is_some()));
    }
}
