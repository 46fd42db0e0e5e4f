//! The binary encoding of a timeline, for the page.
//!
//! Numbers are in groups of 7 bits, the lowest first, with the top bit of a byte set if more follow
//! (LEB128); times are nanoseconds since the first one, or since the one before in ordered lists;
//! strings and labels are numbered from 0. In this order:
//!
//! ```text
//! first time; last time; first and last time to be shown
//! strings:   count, then each as length and UTF-8
//! labels:    count, then each: category, name (strings)
//! notes:     count, then each as length and UTF-8
//! arguments: length in bytes, then as in `arguments`
//! groups:    count, then each: name, rows
//! rows:      count, then each: kind, name, lanes, points, losses, series
//! lanes:     count, then each: length in bytes, count of slices, then each
//!            slice: time since the end of the one before, 2 × length
//!            (+ 1: open), label, arguments; for operations each slice's
//!            identity: zigzag of the id's distance from the one before,
//!            2 × lanes below the parent (+ 1: odd depth)
//! points:    count, then each: time, kind, label, arguments
//! losses:    count, then each: from (not in order), length, number, reason
//! series:    count, then each: name (string), count, then each sample:
//!            time, value (8 bytes)
//! arrows:    count, then each: row, lane, time; row, lane, time since the
//!            tail's; label; id
//! ```
//!
//! Arguments are 0 for none, or else 1 + the zigzag of the distance from the previous arguments'
//! place in the lane or the row's points.

use prost::encoding::encode_varint;
use trace_analyze::catalog::LabelId;

use super::arguments::{self, zigzag};
use super::rows::{Group, Identity, Lane, Loss, Point, Row, Series, Slice};
use super::visible::visible;
use super::Timeline;

/// The bytes so far, and the values that the next differences are relative to.
struct Encoder {
    bytes: Vec<u8>,
    first: u64,
    time: u64,
    arguments: u32,
}

impl Timeline {
    /// Returns the encoded timeline.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (first, last) = self.range;
        let mut out = Encoder { bytes: Vec::new(), first, time: first, arguments: 0 };
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
        out.length(self.arguments.len());
        out.bytes.extend_from_slice(&self.arguments);
        out.list(&self.groups, Encoder::group);
        out.arrows(self);
        out.bytes
    }
}

impl Encoder {
    fn number(&mut self, number: u64) {
        encode_varint(number, &mut self.bytes);
    }

    fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, list: &[T], each: impl Fn(&mut Self, &T)) {
        self.length(list.len());
        (self.time, self.arguments) = (self.first, 0);
        list.iter().for_each(|entry| each(self, entry));
    }

    fn group(&mut self, group: &Group) {
        self.text(&visible(&group.name));
        self.list(&group.rows, Self::row);
    }

    fn row(&mut self, row: &Row) {
        self.number(row.kind as u64);
        self.text(&visible(&row.name));
        self.length(row.lanes.len());
        for (number, lane) in row.lanes.iter().enumerate() {
            let identities = row.identities.get(number).map(Vec::as_slice);
            self.lane(lane, identities.unwrap_or_default());
        }
        self.list(&row.points, Self::point);
        self.list(&row.losses, Self::loss);
        self.list(&row.series, Self::series);
    }

    /// Adds a lane and its size, so that the page can decode it later.
    fn lane(&mut self, lane: &Lane, identities: &[Identity]) {
        let outer = std::mem::take(&mut self.bytes);
        self.list(lane, Self::slice);
        let mut last = 0;
        for Identity { id, above, is_odd } in identities {
            self.number(zigzag(id.wrapping_sub(last) as i64));
            self.number(u64::from(*above) << 1 | u64::from(*is_odd));
            last = *id;
        }
        let lane = std::mem::replace(&mut self.bytes, outer);
        self.length(lane.len());
        self.bytes.extend_from_slice(&lane);
    }

    fn slice(&mut self, slice: &Slice) {
        let Slice { begin, end, label, arguments, is_open, .. } = *slice;
        self.time(begin);
        self.time = end;
        // Twice the length must fit 64 bits: it is cut to 292 years.
        let length = (end - begin).min(u64::MAX >> 1);
        self.number(length << 1 | u64::from(is_open));
        self.number(label.0.into());
        self.arguments(arguments);
    }

    fn point(&mut self, point: &Point) {
        self.time(point.at);
        self.number(point.kind as u64);
        self.number(point.label.0.into());
        self.arguments(point.arguments);
    }

    fn loss(&mut self, loss: &Loss) {
        self.number(loss.from - self.first);
        self.number(loss.to - loss.from);
        self.number(loss.number);
        self.number(loss.reason.into());
    }

    fn series(&mut self, series: &Series) {
        self.number(series.name.into());
        self.list(&series.samples, |encoder, (at, value)| {
            encoder.time(*at);
            encoder.bytes.extend_from_slice(&value.to_le_bytes());
        });
    }

    fn arrows(&mut self, timeline: &Timeline) {
        self.list(&timeline.arrows, |encoder, arrow| {
            encoder.number(arrow.from.row.into());
            encoder.number(arrow.from.lane.into());
            encoder.time(arrow.from.at);
            encoder.number(arrow.to.row.into());
            encoder.number(arrow.to.lane.into());
            encoder.number(arrow.to.at - arrow.from.at);
            encoder.number(arrow.label.0.into());
            encoder.number(arrow.id);
        });
    }

    /// Adds a time, relative to the one before.
    fn time(&mut self, at: u64) {
        self.number(at.saturating_sub(self.time));
        self.time = at;
    }

    fn arguments(&mut self, place: u32) {
        if place == 0 {
            return self.number(0);
        }
        let distance = i64::from(place) - i64::from(self.arguments);
        self.arguments = place;
        self.number(zigzag(distance) + 1);
    }
}

/// Returns the tooltip of a slice or point: category, name and a line for each argument.
pub(super) fn tooltip(timeline: &Timeline, label: LabelId, place: u32) -> String {
    let category = visible(timeline.catalog.category(label));
    let name = visible(timeline.catalog.name(label));
    let arguments = arguments::text(&timeline.arguments, place, &timeline.catalog);
    format!("{category}: {name}{arguments}")
}
