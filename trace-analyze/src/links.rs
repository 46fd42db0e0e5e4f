//! Operations and flows: a begin and an end that have an id in common.
//!
//! They may be of two threads, whose records stand in the archive in any
//! order: an end can come before its begin, and an id that is used again can
//! have its second end before its first. So halves are collected and paired in
//! the order of time, all at once when there are [`MAX_WAITING`]: what is
//! nearer in the archive than half of that is paired as if the archive were in
//! order.

use trace_format::ThreadKoids;

use crate::catalog::LabelId;

/// The most halves that are kept; of those without another half, half as many.
const MAX_WAITING: usize = 1 << 20;

/// What a begin and its end have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The process, 0 if it does not matter.
    pub process: u64,
    pub label: LabelId,
    pub id: u64,
}

/// Where and when something began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub nanos: u64,
    pub thread: ThreadKoids,
}

/// A begin and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub key: Key,
    pub begin: Moment,
    /// When it ended, not before it began.
    pub end: u64,
}

/// Halves without another half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unpaired {
    /// Begins that have not ended.
    pub begins: u64,
    /// Ends whose begin is not there.
    pub ends: u64,
}

impl Unpaired {
    fn count(&mut self, halves: &[Half]) {
        let ends = halves.iter().filter(|half| half.is_end).count() as u64;
        self.ends += ends;
        self.begins += halves.len() as u64 - ends;
    }
}

/// Begins and ends that wait for each other.
#[derive(Debug)]
pub struct Links {
    waiting: Vec<Half>,
    max_waiting: usize,
    /// Those that did not fit.
    beyond: Unpaired,
}

#[derive(Debug, Clone, Copy)]
struct Half {
    key: Key,
    at: Moment,
    is_end: bool,
}

impl Default for Links {
    fn default() -> Self {
        Self { waiting: Vec::new(), max_waiting: MAX_WAITING, beyond: Unpaired::default() }
    }
}

impl Links {
    /// Takes a begin; gives `sink` what is paired by that.
    #[inline]
    pub fn begin(&mut self, key: Key, at: Moment, sink: &mut impl FnMut(Link)) {
        self.push(Half { key, at, is_end: false }, sink);
    }

    /// Takes an end; gives `sink` what is paired by that.
    #[inline]
    pub fn end(&mut self, key: Key, at: Moment, sink: &mut impl FnMut(Link)) {
        self.push(Half { key, at, is_end: true }, sink);
    }

    #[inline]
    fn push(&mut self, half: Half, sink: &mut impl FnMut(Link)) {
        self.waiting.push(half);
        if self.waiting.len() >= self.max_waiting {
            self.pair(sink);
            self.forget();
        }
    }

    /// Gives `sink` the rest, at the end of the archive; returns what has no
    /// other half.
    pub fn finish(&mut self, sink: &mut impl FnMut(Link)) -> Unpaired {
        self.pair(sink);
        let mut unpaired = self.beyond;
        unpaired.count(&self.waiting);
        unpaired
    }

    /// Pairs what can be paired. What is left is in order.
    fn pair(&mut self, sink: &mut impl FnMut(Link)) {
        // Of one thread and time the order stays.
        self.waiting.sort_by_key(|half| (half.key, half.at));
        let mut rest = Vec::new();
        for halves in self.waiting.chunk_by(|a, b| a.key == b.key) {
            pair_of_key(halves, &mut rest, sink);
        }
        self.waiting = rest;
    }

    /// Forgets the oldest of too many.
    #[cold]
    fn forget(&mut self) {
        let Some(older) = self.waiting.len().checked_sub(self.max_waiting / 2) else { return };
        if older > 0 {
            self.waiting.select_nth_unstable_by_key(older - 1, |half| half.at);
            let newer = self.waiting.split_off(older);
            self.beyond.count(&self.waiting);
            self.waiting = newer;
        }
    }
}

/// Pairs halves, in the order of time: an end is that of the last begin before
/// it that has none. Adds those without another half to `rest`.
fn pair_of_key(halves: &[Half], rest: &mut Vec<Half>, sink: &mut impl FnMut(Link)) {
    let mut open: Vec<Half> = Vec::new();
    let mut link = |begin: Half, end: Half| {
        sink(Link { key: begin.key, begin: begin.at, end: end.at.nanos });
    };
    // An end that stands before a begin of the same time, of another thread.
    let mut early: Option<Half> = None;
    for half in halves {
        let is_early = early.is_some_and(|end| end.at.nanos == half.at.nanos);
        if !is_early {
            rest.extend(early.take());
        }
        match (half.is_end, early) {
            (false, Some(end)) => {
                link(*half, end);
                early = None;
            }
            (false, None) => open.push(*half),
            (true, _) => match open.pop() {
                Some(begin) => link(begin, *half),
                None => rest.extend(early.replace(*half)),
            },
        }
    }
    rest.extend(early);
    rest.extend(open);
}

#[cfg(test)]
mod tests;
