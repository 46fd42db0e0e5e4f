//! Events of operations across threads.

use std::hash::{DefaultHasher, Hash, Hasher};

use trace_format::{Event, Item, ThreadKoids};

use super::annotations::pointer;
use super::exporter::PerfettoExporter;
use super::message::Kind;
use super::operations::Begin;
use super::tracks::Uuid;
use trace_analyze::arguments;

impl PerfettoExporter {
    pub(super) fn async_begin<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        (nanos, id): (u64, u64),
    ) {
        let uuid = operation(item, event, koids, id);
        let begin = Begin {
            uuid,
            key: (koids.process, id),
            parent: arguments::named_unsigned(item, &event.arguments, "parent")
                .filter(|parent| *parent != id),
            process: self.tracks.process(koids.process),
            name: &item.text(event.name),
        };
        self.operations.begin(&mut self.packets, &begin);
        let place = (Kind::SliceBegin, uuid);
        let mut made = self.labelled(item, place, (event.category, event.name));
        made.debug_annotations = self.annotations(item, &event.arguments);
        made.debug_annotations.push(pointer("async id", id));
        self.timed(nanos, made);
    }

    /// Writes an event of an operation that began elsewhere in the archive.
    pub(super) fn async_event<'a>(
        &mut self,
        item: &Item<'a>,
        event: &Event<'a>,
        koids: ThreadKoids,
        (kind, nanos, id): (Kind, u64, u64),
    ) {
        let uuid = operation(item, event, koids, id);
        let process = self.tracks.process(koids.process);
        let name = item.text(event.name);
        self.operations.mention(&mut self.packets, uuid, process, &name);
        let mut made = self.labelled(item, (kind, uuid), (event.category, event.name));
        made.debug_annotations = self.annotations(item, &event.arguments);
        if kind == Kind::Instant {
            made.debug_annotations.push(pointer("async id", id));
        }
        self.timed(nanos, made);
    }
}

/// Returns the number of the track of an operation: those of a process, a
/// category and an id are one. It has the highest bit, which no other track's
/// number has.
fn operation<'a>(item: &Item<'a>, event: &Event<'a>, koids: ThreadKoids, id: u64) -> Uuid {
    let mut hasher = DefaultHasher::new();
    (koids.process, id, &*item.text(event.category)).hash(&mut hasher);
    hasher.finish() | 1 << 63
}
