//! Operations across threads: a track for each, nested as tasks are.
//!
//! An archive is in the order of time for each thread and not for all together:
//! the end of an operation may come before its begin, and a task before the one
//! that began it. So the number of a track follows from what the operation is,
//! and its description, which may stand anywhere in the file, waits for the
//! parent.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use trace_format::{Event, Item, ThreadKoids};

use super::annotations::pointer;
use super::exporter::PerfettoExporter;
use super::message::{Kind, SiblingMerge, TrackDescriptor};
use super::packets::Packets;
use super::tracks::{plain, Uuid};
use trace_analyze::arguments;

/// How many operations are remembered. A begin is at least 32 bytes long: these
/// are far more than a buffer of the usual size holds, in which their order may
/// be another one than in time.
const MAX_REMEMBERED: usize = 1 << 19;

/// The operations that began last, and those that are not described yet.
#[derive(Debug, Default)]
pub(super) struct Operations {
    described: HashSet<Uuid>,
    /// The track of the operation with an id, in a process.
    by_id: HashMap<(u64, u64), Uuid>,
    /// The operations of both in the order of their begins.
    order: VecDeque<(Uuid, (u64, u64))>,
    /// What to describe when it is known where it belongs.
    waiting: HashMap<Uuid, Waiting>,
    /// Those of them that wait for the operation with an id, in a process.
    children: HashMap<(u64, u64), Vec<Uuid>>,
}

/// A track that is not described yet.
#[derive(Debug)]
struct Waiting {
    process: Uuid,
    name: Box<str>,
    has_parent: bool,
}

/// An operation that begins.
#[derive(Debug)]
struct Begin<'a> {
    uuid: Uuid,
    /// Process and id.
    key: (u64, u64),
    parent: Option<u64>,
    /// The track of the process.
    process: Uuid,
    name: &'a str,
}

impl Operations {
    fn begin(&mut self, packets: &mut Packets, begin: &Begin<'_>) {
        if !self.described.insert(begin.uuid) {
            return;
        }
        self.waiting.remove(&begin.uuid);
        self.remember(begin.uuid, begin.key);
        let parent_key = begin.parent.map(|id| (begin.key.0, id));
        let parent = parent_key.and_then(|key| self.by_id.get(&key)).copied();
        match (parent, parent_key) {
            (Some(parent), _) => packets.descriptor(nested(begin.uuid, parent, begin.name)),
            (None, Some(key)) => {
                let waits = self.wait(packets, begin.uuid, begin.process, begin.name, true);
                if waits {
                    self.children.entry(key).or_default().push(begin.uuid);
                }
            }
            (None, None) => packets.descriptor(plain(begin.uuid, begin.process, begin.name)),
        }
        for child in self.children.remove(&begin.key).unwrap_or_default() {
            if let Some(waiting) = self.waiting.remove(&child) {
                packets.descriptor(nested(child, begin.uuid, &waiting.name));
            }
        }
    }

    fn remember(&mut self, uuid: Uuid, key: (u64, u64)) {
        self.by_id.insert(key, uuid);
        self.order.push_back((uuid, key));
        if self.order.len() <= MAX_REMEMBERED {
            return;
        }
        if let Some((uuid, key)) = self.order.pop_front() {
            self.described.remove(&uuid);
            if self.by_id.get(&key) == Some(&uuid) {
                self.by_id.remove(&key);
            }
        }
    }

    /// Sees to it that a track of which there is no begin yet is described in
    /// the end.
    fn mention(&mut self, packets: &mut Packets, uuid: Uuid, process: Uuid, name: &str) {
        if !self.described.contains(&uuid) && !self.waiting.contains_key(&uuid) {
            self.wait(packets, uuid, process, name, false);
        }
    }

    /// Puts a description off; false if there are so many that it is not.
    fn wait(
        &mut self,
        packets: &mut Packets,
        uuid: Uuid,
        process: Uuid,
        name: &str,
        has_parent: bool,
    ) -> bool {
        if self.waiting.len() >= MAX_REMEMBERED {
            packets.descriptor(plain(uuid, process, name));
            return false;
        }
        self.waiting.insert(uuid, Waiting { process, name: name.into(), has_parent });
        true
    }

    /// Describes the tracks that still wait, below their processes.
    pub(super) fn finish(&mut self, packets: &mut Packets) {
        for (uuid, waiting) in std::mem::take(&mut self.waiting) {
            let describe = if waiting.has_parent { nested } else { plain };
            packets.descriptor(describe(uuid, waiting.process, &waiting.name));
        }
    }
}

/// Describes the track of an operation within another one. Those of equal names
/// are kept apart: else all that is in them would be in the first.
fn nested(uuid: Uuid, parent: Uuid, name: &str) -> TrackDescriptor {
    let sibling_merge_behavior = Some(SiblingMerge::None as i32);
    TrackDescriptor { sibling_merge_behavior, ..plain(uuid, parent, name) }
}

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
