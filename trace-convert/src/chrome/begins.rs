//! Durations with length 0.

use std::collections::HashMap;

use trace_format::{EventKind, ThreadKoids};

/// The maximum number of threads whose last event is kept.
const MAX_THREADS: usize = 1 << 16;

/// The last begin or end of each thread, with the time at which it is written.
#[derive(Debug, Default)]
pub(super) struct Begins {
    last: HashMap<ThreadKoids, LastEvent>,
}

/// A begin or an end, with times in nanoseconds.
#[derive(Debug)]
struct LastEvent {
    nanos: u64,
    /// The time at which it is written, not before `nanos`.
    at: u64,
    /// The time at which the last begin is written.
    begin: u64,
}

impl Begins {
    /// Returns the time at which an event is written. If a begin and an end have the same time,
    /// Perfetto reads the end first. Such an end, and later events of its thread at that time, are
    /// written one nanosecond later.
    #[inline]
    pub(super) fn written_at(&mut self, nanos: u64, thread: ThreadKoids, kind: EventKind) -> u64 {
        use EventKind::{AsyncBegin, AsyncEnd, AsyncInstant, Counter, DurationBegin, DurationEnd};
        match kind {
            DurationBegin | DurationEnd => self.show(nanos, thread, kind == DurationEnd),
            Counter { .. } | AsyncBegin { .. } | AsyncInstant { .. } | AsyncEnd { .. } => nanos,
            _ if self.last.is_empty() => nanos,
            _ => self.last.get(&thread).map_or(nanos, |last| last.after(nanos)),
        }
    }

    fn show(&mut self, nanos: u64, thread: ThreadKoids, is_end: bool) -> u64 {
        if self.last.len() >= MAX_THREADS && !self.last.contains_key(&thread) {
            self.last.clear();
        }
        let last =
            self.last.entry(thread).or_insert(LastEvent { nanos, at: nanos, begin: u64::MAX });
        let mut at = last.after(nanos);
        if !is_end {
            last.begin = at;
        } else if at == last.begin {
            at = at.saturating_add(1);
        }
        (last.nanos, last.at) = (nanos, at);
        at
    }
}

impl LastEvent {
    /// Returns the time at which a later event at `nanos` is written. An event before `self.nanos`
    /// belongs to a chunk that was saved late.
    fn after(&self, nanos: u64) -> u64 {
        match (self.nanos..self.at).contains(&nanos) {
            true => self.at,
            false => nanos,
        }
    }
}
