//! What has begun and not ended, while an archive is cut.

use std::collections::HashMap;

use crate::catalog::{LabelId, ThreadId};

/// The most begins that are remembered on a thread.
const MAX_DEPTH: usize = 16 << 10;

/// How far down the begin of an end is looked for.
const MAX_SEARCH: usize = 1 << 10;

/// What begins and ends have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Thread(ThreadId),
    Operation { process: u64, label: LabelId, id: u64 },
}

impl Key {
    pub(super) fn thread(thread: ThreadId) -> Self {
        Self::Thread(thread)
    }

    pub(super) fn operation(process: u64, label: LabelId, id: u64) -> Self {
        Self::Operation { process, label, id }
    }
}

/// A begin that is not written yet.
#[derive(Debug)]
pub(super) struct Held {
    /// The provider that it is of.
    pub(super) provider: Option<u32>,
    /// The record, with its strings and threads inline.
    pub(super) bytes: Vec<u8>,
}

/// What became of a begin.
#[derive(Debug)]
enum Begin {
    Kept,
    LeftOut,
    Held(Held),
}

/// What has begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Open {
    begins: HashMap<Key, Vec<(LabelId, Begin)>>,
}

impl Open {
    pub(super) fn begin(&mut self, key: Key, label: LabelId, is_kept: bool) {
        self.push(key, label, if is_kept { Begin::Kept } else { Begin::LeftOut });
    }

    /// Remembers a begin to be written later; tells whether there is room.
    pub(super) fn hold(&mut self, key: Key, label: LabelId, held: Held) -> bool {
        self.push(key, label, Begin::Held(held))
    }

    fn push(&mut self, key: Key, label: LabelId, begin: Begin) -> bool {
        let begins = self.begins.entry(key).or_default();
        let has_room = begins.len() < MAX_DEPTH;
        if has_room {
            begins.push((label, begin));
        }
        has_room
    }

    /// Takes the begin of an end, the innermost one with this label, or of all;
    /// tells whether it was kept. `None` if there is none.
    pub(super) fn end(&mut self, key: Key, label: Option<LabelId>) -> Option<bool> {
        let begins = self.begins.get_mut(&key)?;
        let is_its = |begin: &(LabelId, Begin)| label.is_none_or(|label| begin.0 == label);
        let inside = begins.iter().rev().take(MAX_SEARCH).position(is_its)?;
        begins.truncate(begins.len() - inside);
        let (_, begin) = begins.pop()?;
        if begins.is_empty() {
            self.begins.remove(&key);
        }
        Some(matches!(begin, Begin::Kept))
    }

    /// Hands over the begins of one key that are held; they count as kept.
    pub(super) fn release(&mut self, key: Key) -> Vec<Held> {
        self.begins.get_mut(&key).map(|begins| take_held(begins)).unwrap_or_default()
    }

    /// Hands over all that are held.
    pub(super) fn release_all(&mut self) -> Vec<Held> {
        let mut begins: Vec<_> = std::mem::take(&mut self.begins).into_iter().collect();
        begins.sort_by_key(|(key, _)| *key);
        begins.iter_mut().flat_map(|(_, begins)| take_held(begins)).collect()
    }
}

fn take_held(begins: &mut [(LabelId, Begin)]) -> Vec<Held> {
    let mut taken = Vec::new();
    for (_, begin) in begins {
        if matches!(begin, Begin::Held(_)) {
            if let Begin::Held(held) = std::mem::replace(begin, Begin::Kept) {
                taken.push(held);
            }
        }
    }
    taken
}
