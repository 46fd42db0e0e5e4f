//! The exporter for Perfetto's format.

use std::collections::HashMap;
use std::io::{self, Write};

use trace_format::layout::BlobType;
use trace_format::{Arguments, Item, Metadata, Record, Text};

use super::embedded::Embedded;
use super::message::{DebugAnnotation, Kind, TrackEvent};
use super::operations::Operations;
use super::packets::{Packets, Use};
use super::samples::Samples;
use super::tracks::{Tracks, Uuid};
use crate::export::{convert_by_type, Exporter};
use crate::{Conversion, Symbols};
use trace_analyze::catalog::Catalog;
use trace_analyze::objects::Objects;
use trace_analyze::Damage;

/// The maximum number of events that wait for the first time.
const MAX_WAITING: usize = 1024;

/// A conversion to Perfetto's format in progress.
#[derive(Debug, Default)]
pub(super) struct PerfettoExporter {
    pub(super) packets: Packets,
    pub(super) tracks: Tracks,
    pub(super) operations: Operations,
    pub(super) embedded: Embedded,
    pub(super) catalog: Catalog,
    pub(super) objects: Objects,
    pub(super) conversion: Conversion,
    /// The time of the last record that has one, in nanoseconds.
    nanos: Option<u64>,
    /// Events without a time before the first record with a time.
    waiting: Vec<TrackEvent>,
    /// The command names of threads, for the scheduler's events.
    pub(super) comms: HashMap<u64, Box<str>>,
    /// Whether the time of day was written.
    pub(super) has_time_of_day: bool,
    pub(super) samples: Samples,
}

impl Exporter for PerfettoExporter {
    #[inline]
    fn record(&mut self, item: &Item<'_>) {
        self.catalog.note(item);
        self.objects.note(item);
        match &item.record {
            Record::Event(event) => self.event(item, event),
            _ => self.other_record(item),
        }
    }

    #[inline]
    fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()> {
        self.packets.write_full_pieces(output)
    }

    fn finish(mut self, damage: Damage, output: &mut impl Write) -> io::Result<Conversion> {
        if self.nanos.is_none() {
            self.pass(0);
        }
        for rest in self.embedded.finish() {
            self.bytes("packet without its end", BlobType::PERFETTO, &rest);
        }
        self.operations.finish(&mut self.packets);
        self.tracks.finish(&mut self.packets, &self.catalog);
        self.packets.write_all(output)?;
        self.conversion.damage = damage;
        self.conversion.mappings_left_out = self.samples.images.omitted();
        self.conversion.symbols = Some(self.samples.symbols);
        self.conversion.events = self.packets.events();
        Ok(self.conversion)
    }
}

impl PerfettoExporter {
    pub(super) fn new(symbols: Symbols) -> Self {
        Self { samples: Samples::new(symbols), ..Self::default() }
    }

    fn other_record(&mut self, item: &Item<'_>) {
        self.samples.images.note(item);
        self.samples.symbols.note(item);
        convert_by_type!(self, item);
    }

    /// Records the time of a record. The first one is the time of the waiting events.
    #[inline]
    pub(super) fn pass(&mut self, nanos: u64) {
        if self.nanos.replace(nanos).is_none() {
            for event in std::mem::take(&mut self.waiting) {
                self.packets.event(nanos, event);
            }
        }
    }

    /// Writes an event with a time.
    #[inline]
    pub(super) fn timed(&mut self, nanos: u64, event: TrackEvent) {
        self.pass(nanos);
        self.packets.event(nanos, event);
    }

    /// Writes an event of a record without a time.
    pub(super) fn untimed(&mut self, event: TrackEvent) {
        match self.nanos {
            Some(nanos) => self.packets.event(nanos, event),
            None if self.waiting.len() < MAX_WAITING => self.waiting.push(event),
            None => self.packets.event(0, event),
        }
    }

    /// Returns the interned id of a string of `item`'s record.
    #[inline]
    pub(super) fn string(&mut self, used_as: Use, item: &Item<'_>, text: Text<'_>) -> u64 {
        let id = self.catalog.text(item, text);
        self.packets.string(used_as, id, || self.catalog.string(id))
    }

    /// Returns an event with the category, name and arguments of a record.
    #[inline]
    pub(super) fn labelled<'a>(
        &mut self,
        item: &Item<'a>,
        (kind, track): (Kind, Uuid),
        (category, name): (Text<'a>, Text<'a>),
        arguments: &Arguments<'a>,
    ) -> TrackEvent {
        TrackEvent {
            kind: Some(kind as i32),
            track_uuid: Some(track),
            category_iid: Some(self.string(Use::Category, item, category)),
            name_iid: Some(self.string(Use::Name, item, name)),
            debug_annotations: self.annotations(item, arguments),
            ..TrackEvent::default()
        }
    }

    /// Returns an instant with a category and name that are not strings of the record.
    pub(super) fn note(
        &mut self,
        track: Uuid,
        category: &'static str,
        name: impl Into<String>,
        debug_annotations: Vec<DebugAnnotation>,
    ) -> TrackEvent {
        let id = self.catalog.intern(category);
        TrackEvent {
            kind: Some(Kind::Instant as i32),
            track_uuid: Some(track),
            category_iid: Some(self.packets.string(Use::Category, id, || category)),
            name: Some(name.into()),
            debug_annotations,
            ..TrackEvent::default()
        }
    }
}
