//! Async events.

use std::hash::{DefaultHasher, Hash, Hasher};

use trace_analyze::arguments;

use super::annotations::pointer;
use super::event::EventRecord;
use super::exporter::PerfettoExporter;
use super::message::Kind;
use super::operations::Begin;
use super::tracks::Uuid;

impl PerfettoExporter {
    pub(super) fn async_begin(&mut self, record: &EventRecord<'_, '_>, id: u64) {
        let EventRecord { item, event, koids, nanos } = *record;
        let uuid = operation_track(record, id);
        let parent = arguments::named_unsigned(item, &event.arguments, "parent");
        let begin = Begin {
            uuid,
            key: (koids.process, id),
            parent: parent.filter(|parent| *parent != id),
            process: self.tracks.process(koids.process),
            name: &item.text(event.name),
        };
        self.operations.begin(&mut self.packets, &begin);
        let mut track_event = self.of_record(record, Kind::SliceBegin, uuid);
        track_event.debug_annotations.push(pointer("async id", id));
        self.timed(nanos, track_event);
    }

    /// Writes an instant or the end of an operation. Its begin may come later in the archive.
    pub(super) fn async_event(&mut self, record: &EventRecord<'_, '_>, kind: Kind, id: u64) {
        let uuid = operation_track(record, id);
        let process = self.tracks.process(record.koids.process);
        let name = record.item.text(record.event.name);
        self.operations.mention(&mut self.packets, uuid, process, &name);
        let mut track_event = self.of_record(record, kind, uuid);
        if kind == Kind::Instant {
            track_event.debug_annotations.push(pointer("async id", id));
        }
        self.timed(record.nanos, track_event);
    }
}

/// Returns the UUID of an operation's track: a hash of its process, category and id. The highest
/// bit is set, unlike in the UUIDs of other tracks.
fn operation_track(record: &EventRecord<'_, '_>, id: u64) -> Uuid {
    let mut hasher = DefaultHasher::new();
    let category = record.item.text(record.event.category);
    (record.koids.process, id, &*category).hash(&mut hasher);
    hasher.finish() | 1 << 63
}
