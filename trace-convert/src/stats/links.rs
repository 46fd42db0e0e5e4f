//! Operations and flows: a begin and an end that have an id in common.

use std::collections::HashMap;

use trace_format::ThreadKoids;

use crate::catalog::LabelId;

/// The most that are open at once; beginnings beyond it are not remembered.
const MAX_OPEN: usize = 1 << 20;

/// What a begin and its end have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The process, 0 if it does not matter.
    pub(super) process: u64,
    pub(super) label: LabelId,
    pub(super) id: u64,
}

/// Where and when something began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin {
    pub(super) nanos: u64,
    pub(super) thread: ThreadKoids,
}

/// What has begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Links {
    open: HashMap<Key, Vec<Begin>>,
    /// How many begins are in `open`.
    count: usize,
    /// Begins that did not fit.
    beyond: u64,
    pub(super) without_begin: u64,
}

impl Links {
    pub(super) fn begin(&mut self, key: Key, begin: Begin) {
        if self.count >= MAX_OPEN {
            self.beyond += 1;
            return;
        }
        self.count += 1;
        self.open.entry(key).or_default().push(begin);
    }

    /// Returns what ends now, of those with this key the last one.
    pub(super) fn end(&mut self, key: Key) -> Option<Begin> {
        let Some(begins) = self.open.get_mut(&key) else {
            self.without_begin += 1;
            return None;
        };
        let begin = begins.pop();
        if begins.is_empty() {
            self.open.remove(&key);
        }
        self.count -= 1;
        begin
    }

    /// Returns how many have not ended.
    pub(super) fn without_end(&self) -> u64 {
        self.count as u64 + self.beyond
    }
}
