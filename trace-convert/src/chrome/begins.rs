//! Durations of no length.

use std::collections::HashMap;

use trace_format::{EventKind, ThreadKoids};

/// The most threads of which it is remembered what was shown.
const MAX_THREADS: usize = 1 << 16;

/// What begins and ends were shown last on each thread.
#[derive(Debug, Default)]
pub(super) struct Begins {
    last: HashMap<ThreadKoids, Shown>,
}

/// A begin or an end. Times are in nanoseconds.
#[derive(Debug)]
struct Shown {
    nanos: u64,
    /// Where it is shown, not before `nanos`.
    at: u64,
    /// Where the last begin is shown.
    begin: u64,
}

impl Begins {
    /// Returns the time at which an event is shown. Of a begin and an end at one
    /// time Perfetto takes the end first: such an end is shown a nanosecond
    /// later, and so is what follows on its thread at that time.
    #[inline]
    pub(super) fn shown_at(&mut self, nanos: u64, thread: ThreadKoids, kind: EventKind) -> u64 {
        use EventKind::{AsyncBegin, AsyncEnd, AsyncInstant, Counter, DurationBegin, DurationEnd};
        match kind {
            DurationBegin | DurationEnd => self.show(nanos, thread, kind == DurationEnd),
            Counter { .. } | AsyncBegin { .. } | AsyncInstant { .. } | AsyncEnd { .. } => nanos,
            _ if self.last.is_empty() => nanos,
            _ => self.last.get(&thread).map_or(nanos, |last| last.behind(nanos)),
        }
    }

    fn show(&mut self, nanos: u64, thread: ThreadKoids, is_end: bool) -> u64 {
        if self.last.len() >= MAX_THREADS && !self.last.contains_key(&thread) {
            self.last.clear();
        }
        let last = self.last.entry(thread).or_insert(Shown { nanos, at: nanos, begin: u64::MAX });
        let mut at = last.behind(nanos);
        if !is_end {
            last.begin = at;
        } else if at == last.begin {
            at = at.saturating_add(1);
        }
        (last.nanos, last.at) = (nanos, at);
        at
    }
}

impl Shown {
    /// Returns where something at `nanos` is shown that comes behind. What is
    /// earlier is of a chunk that comes late.
    fn behind(&self, nanos: u64) -> u64 {
        match (self.nanos..self.at).contains(&nanos) {
            true => self.at,
            false => nanos,
        }
    }
}
