//! A timeline as bytes, for the page.
//!
//! Numbers are as in [`bytes`](super::bytes); times are nanoseconds since the
//! first one, and where they come in order, since the one before; numbers of
//! strings and labels count from 0. In this order:
//!
//! ```text
//! first time; last time; first and last time to be shown
//! strings:   count, then each as length and UTF-8
//! labels:    count, then each: category, name (strings)
//! notes:     count, then each as length and UTF-8
//! arguments: length in bytes, then as in `arguments`
//! groups:    count, then each: name, rows
//! rows:      count, then each: kind, name, lanes, points, losses, series
//! lanes:     count, then each: count of slices, then each slice:
//!            time since the end of the one before, 2 × length (+ 1: open),
//!            label, arguments
//! points:    count, then each: time, kind, label, arguments
//! losses:    count, then each: from (not in order), length, number, reason
//! series:    count, then each: name (string), count, then each sample:
//!            time, value (8 bytes)
//! arrows:    count, then each: row, lane, time; row, lane, time since the
//!            tail's; label; id
//! ```
//!
//! Arguments are 0 for none, else 1 + the zigzag of how far they are behind the
//! ones before.

use super::arguments;
use super::bytes::{zigzag, Bytes};
use super::rows::{Group, Loss, Point, Row, Series, Slice};
use super::visible::visible;
use super::Timeline;

/// Bytes under way, with what the next ones count from.
struct Encoder {
    bytes: Bytes,
    first: u64,
    time: u64,
    arguments: u32,
}

impl Timeline {
    /// Returns all of the timeline.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (first, last) = self.range;
        let mut encoder = Encoder { bytes: Bytes::default(), first, time: first, arguments: 0 };
        let out = &mut encoder.bytes;
        out.number(first);
        out.number(last - first);
        out.number(self.view.0 - first);
        out.number(self.view.1 - first);
        out.length(self.catalog.strings().len());
        self.catalog.strings().for_each(|string| out.text(&visible(string)));
        out.length(self.catalog.labels().len());
        for (category, name) in self.catalog.labels() {
            out.number((*category).into());
            out.number((*name).into());
        }
        out.length(self.notes.len());
        self.notes.iter().for_each(|note| out.text(&visible(note)));
        out.bytes(&self.arguments);
        encoder.list(&self.groups, Encoder::group);
        encoder.arrows(self);
        encoder.bytes.0
    }
}

impl Encoder {
    fn list<T>(&mut self, list: &[T], each: impl Fn(&mut Self, &T)) {
        self.bytes.length(list.len());
        self.time = self.first;
        list.iter().for_each(|entry| each(self, entry));
    }

    fn group(&mut self, group: &Group) {
        self.bytes.text(&visible(&group.name));
        self.list(&group.rows, Self::row);
    }

    fn row(&mut self, row: &Row) {
        self.bytes.number(row.kind as u64);
        self.bytes.text(&visible(&row.name));
        self.list(&row.lanes, |encoder, lane| encoder.list(lane, Self::slice));
        self.list(&row.points, Self::point);
        self.list(&row.losses, Self::loss);
        self.list(&row.series, Self::series);
    }

    fn slice(&mut self, slice: &Slice) {
        let Slice { begin, end, label, arguments, is_open } = *slice;
        self.time(begin);
        self.time = end;
        // Twice the length may be beyond 64 bits; nothing lasts 292 years.
        let length = (end - begin).min(u64::MAX >> 1);
        self.bytes.number(length << 1 | u64::from(is_open));
        self.bytes.number(label.0.into());
        self.arguments(arguments);
    }

    fn point(&mut self, point: &Point) {
        self.time(point.at);
        self.bytes.number(point.kind as u64);
        self.bytes.number(point.label.0.into());
        self.arguments(point.arguments);
    }

    fn loss(&mut self, loss: &Loss) {
        self.bytes.number(loss.from - self.first);
        self.bytes.number(loss.to - loss.from);
        self.bytes.number(loss.number);
        self.bytes.number(loss.reason.into());
    }

    fn series(&mut self, series: &Series) {
        self.bytes.number(series.name.into());
        self.list(&series.samples, |encoder, (at, value)| {
            encoder.time(*at);
            encoder.bytes.double(*value);
        });
    }

    fn arrows(&mut self, timeline: &Timeline) {
        self.list(&timeline.arrows, |encoder, arrow| {
            encoder.bytes.number(arrow.from.row.into());
            encoder.bytes.number(arrow.from.lane.into());
            encoder.time(arrow.from.at);
            encoder.bytes.number(arrow.to.row.into());
            encoder.bytes.number(arrow.to.lane.into());
            encoder.bytes.number(arrow.to.at - arrow.from.at);
            encoder.bytes.number(arrow.label.0.into());
            encoder.bytes.number(arrow.id);
        });
    }

    /// Adds a time that is not before the one before.
    fn time(&mut self, at: u64) {
        self.bytes.number(at.saturating_sub(self.time));
        self.time = at;
    }

    fn arguments(&mut self, place: u32) {
        if place == 0 {
            return self.bytes.number(0);
        }
        let distance = i64::from(place) - i64::from(self.arguments);
        self.arguments = place;
        self.bytes.number(zigzag(distance) + 1);
    }
}

/// Returns what a slice or point has to tell, as lines.
pub(super) fn told(
    timeline: &Timeline,
    label: trace_analyze::catalog::LabelId,
    place: u32,
) -> String {
    let category = visible(timeline.catalog.category(label));
    let name = visible(timeline.catalog.name(label));
    let arguments = arguments::text(&timeline.arguments, place, &timeline.catalog);
    format!("{category}: {name}{arguments}")
}
