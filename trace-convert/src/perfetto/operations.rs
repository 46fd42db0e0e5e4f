//! Operations across threads: a track for each, nested as tasks are.
//!
//! An archive is in the order of time for each thread and not for all together:
//! the end of an operation may come before its begin, and a task before the one
//! that began it. So the number of a track follows from what the operation is,
//! and its description, which may stand anywhere in the file, waits for the
//! parent.

use std::collections::{HashMap, HashSet, VecDeque};

use super::message::{SiblingMerge, TrackDescriptor};
use super::packets::Packets;
use super::tracks::{plain, Uuid};

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

    /// Sees to it that a track of which there is no begin yet is described in
    /// the end.
    pub(super) fn mention(&mut self, packets: &mut Packets, uuid: Uuid, process: Uuid, name: &str) {
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

    /// Describes the tracks that still wait, below their processes, in the same order each time.
    pub(super) fn finish(&mut self, packets: &mut Packets) {
        let mut all: Vec<_> = std::mem::take(&mut self.waiting).into_iter().collect();
        all.sort_unstable_by_key(|(uuid, _)| *uuid);
        for (uuid, waiting) in all {
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
