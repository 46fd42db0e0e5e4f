//! The path of a flow.

use std::io::Read;

use trace_format::{EventKind, Reader, Record, ThreadKoids};

use super::{Chosen, Segment};
use crate::references::{peek_text, peek_thread};
use crate::spans::{Span, Spans};
use crate::{ConvertError, Damage};

/// A point of a flow, with the innermost duration around it.
#[derive(Debug, Clone)]
pub(super) struct Point {
    nanos: u64,
    koids: ThreadKoids,
    around: Option<Span>,
}

/// Returns the begin, the steps and the end of a flow, in the order of time.
pub(super) fn points<R: Read>(
    chosen: &Chosen,
    reader: Reader<R>,
) -> Result<Vec<Point>, ConvertError> {
    let mut points = Vec::new();
    Damage::of_all(reader, |item| {
        let Record::Event(event) = &item.record else { return };
        let (EventKind::FlowBegin { id } | EventKind::FlowStep { id } | EventKind::FlowEnd { id }) =
            event.kind
        else {
            return;
        };
        let nanos = item.nanos(event.ticks);
        let is_its = id == chosen.id
            && (chosen.begin..=chosen.end).contains(&nanos)
            && peek_text(item, event.name) == chosen.name
            && peek_text(item, event.category) == chosen.category;
        if is_its {
            points.push(Point { nanos, koids: peek_thread(item, event.thread), around: None });
        }
    })?;
    points.sort_by_key(|point| point.nanos);
    Ok(points)
}

/// Returns what ran and what was waited for between the points.
pub(super) fn path<R: Read>(
    chosen: &Chosen,
    mut points: Vec<Point>,
    reader: Reader<R>,
) -> Result<Vec<Segment>, ConvertError> {
    let mut spans = Spans::default();
    Damage::of_all(reader, |item| spans.record(item, &mut |span| look(&mut points, &span)))?;
    spans.finish(&mut |span| look(&mut points, &span));
    let mut segments = Vec::new();
    for pair in points.windows(2) {
        let [point, next] = pair else { continue };
        let mut from = point.nanos;
        if let Some(span) = &point.around {
            let to = span.rate.to_nanos(span.end).min(next.nanos);
            let (category, name) =
                (spans.catalog().category(span.label), spans.catalog().name(span.label));
            push(&mut segments, from, to, (category, name), Some(point.koids));
            from = to.max(from);
        }
        push(&mut segments, from, next.nanos, (&chosen.category, &chosen.name), None);
    }
    Ok(segments)
}

/// Keeps a duration where it is nearer around a point than what is known.
fn look(points: &mut [Point], span: &Span) {
    let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
    let first = points.partition_point(|point| point.nanos < begin);
    for point in points.iter_mut().skip(first).take_while(|point| point.nanos <= end) {
        let is_nearer =
            point.around.is_none_or(|known| span.end - span.begin < known.end - known.begin);
        if point.koids == span.koids && is_nearer {
            point.around = Some(*span);
        }
    }
}

fn push(
    segments: &mut Vec<Segment>,
    from: u64,
    to: u64,
    label: (&str, &str),
    thread: Option<ThreadKoids>,
) {
    if from < to {
        let (category, name) = (label.0.to_owned(), label.1.to_owned());
        segments.push(Segment { from, to, depth: 0, category, name, thread });
    }
}
