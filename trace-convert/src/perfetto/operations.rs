//! Tracks of async operations, nested by parent.
//!
//! An archive is ordered by time for each thread, not across threads: the end of an operation may
//! precede its begin, and a child its parent. Therefore a track's UUID is a hash of the operation,
//! and the track's descriptor, which may be anywhere in the file, waits for the parent.

use std::collections::{HashMap, HashSet, VecDeque};

use super::message::{SiblingMerge, TrackDescriptor};
use super::packets::Packets;
use super::tracks::{plain, Uuid};

/// The maximum number of operations that are kept. Records are out of order within one buffer, and
/// a buffer of the default size has fewer begins, of at least 32 bytes each.
const MAX_REMEMBERED: usize = 1 << 19;

/// The latest operations, and the tracks without a descriptor.
#[derive(Debug, Default)]
pub(super) struct Operations {
    described: HashSet<Uuid>,
    /// The track of an operation, by process and id.
    by_id: HashMap<(u64, u64), Uuid>,
    /// The operations of `described` and `by_id` in the order of their begins.
    order: VecDeque<(Uuid, (u64, u64))>,
    /// The tracks whose parent is unknown.
    waiting: HashMap<Uuid, Waiting>,
    /// The tracks that wait for a parent, by the parent's process and id.
    children: HashMap<(u64, u64), Vec<Uuid>>,
}

/// A track without a descriptor.
#[derive(Debug)]
struct Waiting {
    process: Uuid,
    name: Box<str>,
    has_parent: bool,
}

/// The begin of an operation.
#[derive(Debug)]
pub(super) struct Begin<'a> {
    pub(super) uuid: Uuid,
    /// Process and id.
    pub(super) key: (u64, u64),
    pub(super) parent: Option<u64>,
    /// The track of the process.
    pub(super) process: Uuid,
    pub(super) name: &'a str,
}

impl Operations {
    pub(super) fn begin(&mut self, packets: &mut Packets, begin: &Begin<'_>) {
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

    /// Adds a track whose begin was not read yet. It gets a descriptor at the end of the archive.
    pub(super) fn mention(&mut self, packets: &mut Packets, uuid: Uuid, process: Uuid, name: &str) {
        if !self.described.contains(&uuid) && !self.waiting.contains_key(&uuid) {
            self.wait(packets, uuid, process, name, false);
        }
    }

    /// Delays a descriptor; writes it and returns `false` if too many wait.
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

    /// Writes the descriptors of the waiting tracks, below their processes, in a fixed order.
    pub(super) fn finish(&mut self, packets: &mut Packets) {
        let mut all: Vec<_> = std::mem::take(&mut self.waiting).into_iter().collect();
        all.sort_unstable_by_key(|(uuid, _)| *uuid);
        for (uuid, waiting) in all {
            let describe = if waiting.has_parent { nested } else { plain };
            packets.descriptor(describe(uuid, waiting.process, &waiting.name));
        }
    }
}

/// Returns the descriptor of a nested operation. Tracks of one name stay separate: else Perfetto
/// would show all of their slices in the first one.
fn nested(uuid: Uuid, parent: Uuid, name: &str) -> TrackDescriptor {
    let sibling_merge_behavior = Some(SiblingMerge::None as i32);
    TrackDescriptor { sibling_merge_behavior, ..plain(uuid, parent, name) }
}
