//! Durations assembled from begin, end and complete events.
//!
//! The records of a thread can come in any order. A complete event stands where its duration
//! begins, as in our own archives, or where it ends, after all inner durations, as other programs
//! write it. The chunks of a buffer can be out of order. [`Spans`] assembles durations in one pass,
//! with their self time: the time that no inner duration takes.
//!
//! # Method
//!
//! Threads of a provider are independent: the times of each are ticks of one clock. If the provider
//! changes the rate of its clock, open durations end without an end. A window sorts the events of a
//! thread by time, and a stack has its open durations. If a complete event comes after its inner
//! durations, it takes their lengths from a list of closed durations.
//!
//! # Precision
//!
//! - Times are exact.
//! - The self time is exact if events are out of order by less than 8192 events of their thread,
//!   and complete events after their inner durations have less than 200,000 of them. Beyond that, a
//!   duration may count for a wrong outer one, and neighbours share one length;
//!   [`Oddities::misplaced`] counts the durations that may be wrong.
//!
//! # Polls
//!
//! Polls of async operations are durations with a [`Role`]. A span of `tracing` has its id only
//! after its first poll, so that duration has a mark: an async instant of the same category, name
//! and thread, at its begin, with the argument `poll-count` or `poll-state`. Marks are found as
//! long as the duration is in the window or open.
//!
//! # Unpaired events
//!
//! An end belongs to the innermost open begin of its category and name, among the 1024 innermost.
//! An empty category or name matches any. Begins inside that one have no end. Begins without an
//! end, and ends without a begin, are counted and skipped.

mod pending;
mod roles;
mod thread;
mod window;

use trace_format::{Event, EventKind, Item, Record, ThreadKoids, TickRate};

use crate::catalog::{Catalog, LabelId, ThreadId};
pub use roles::is_mark;
use thread::ThreadSpans;
use window::Entry;

/// The closed durations, kept for a later one around them on all threads, from which on they are
/// grouped.
const MAX_PENDING: usize = 1 << 20;

/// The most events in the windows of all threads.
const MAX_WAITING: usize = 2 << 20;

/// The part of a duration in an async operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Role {
    /// None that the archive names.
    #[default]
    Duration,
    /// A poll: it has the arguments `task` and `poll-count`, or a mark.
    Poll,
    /// The drop of a future after its last poll. It has a mark.
    Drop,
}

impl Role {
    /// Returns its name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Poll => "poll",
            Self::Drop => "drop",
        }
    }
}

/// A duration on a thread, with the values of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<V = ()> {
    /// Its category and name, of [`Spans::catalog`].
    pub label: LabelId,
    /// Its thread, of [`Spans::catalog`].
    pub thread: ThreadId,
    /// Its thread's koids.
    pub koids: ThreadKoids,
    /// The clock of its times.
    pub rate: TickRate,
    /// The time of its begin, in ticks of its thread's clock.
    pub begin: u64,
    /// The time of its end, not before the begin.
    pub end: u64,
    /// The time that no inner duration takes, in ticks.
    pub self_ticks: u64,
    /// Its part in an operation.
    pub role: Role,
    /// The value of its begin or of its complete event, see [`Spans::record_with`].
    pub begin_value: V,
    /// The value of its end, or the default of a complete event.
    pub end_value: V,
}

impl<V> Span<V> {
    /// Returns its length in nanoseconds, rounded to the nearest.
    #[inline]
    #[must_use]
    pub fn nanos(&self) -> u64 {
        self.rate.length_to_nanos(self.end - self.begin)
    }

    /// Returns its self time in nanoseconds.
    #[inline]
    #[must_use]
    pub fn self_nanos(&self) -> u64 {
        self.rate.length_to_nanos(self.self_ticks)
    }
}

/// The number of unpaired and malformed events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oddities {
    /// Begins without an end.
    pub begins_without_end: u64,
    /// Ends without a begin.
    pub ends_without_begin: u64,
    /// Complete events that end before they begin. Their length is 0.
    pub reversed: u64,
    /// Durations so far out of order that the self time of the durations around them may be wrong.
    pub misplaced: u64,
}

/// Assembles durations.
///
/// Memory grows with the number of open durations, about 64 bytes each.
///
/// # Examples
///
/// ```
/// use trace_analyze::spans::Spans;
/// use trace_format::Reader;
///
/// # fn open() -> &'static [u8] { b"\x10\x00\x04\x46\x78\x54\x16\x00" }
/// let mut spans = Spans::default();
/// let mut reader = Reader::new(open());
/// let mut longest = None;
/// while let Some(item) = reader.next()? {
///     longest = longest.max(spans.record(&item).map(|span| span.nanos()).max());
/// }
/// longest = longest.max(spans.finish().map(|span| span.nanos()).max());
/// assert_eq!((longest, spans.oddities().begins_without_end), (None, 0));
/// # Ok::<(), trace_format::ReadError>(())
/// ```
///
/// Each event can have a value of the caller, which its duration gets.
#[derive(Debug)]
pub struct Spans<V = ()> {
    catalog: Catalog,
    threads: Vec<ThreadSpans<V>>,
    waiting: usize,
    pending: usize,
    /// The closed durations from which on they are grouped.
    max_pending: usize,
    done: Done<V>,
}

/// Completed durations, and counts.
#[derive(Debug)]
struct Done<V> {
    spans: Vec<Span<V>>,
    oddities: Oddities,
    /// Begins without an end. `None` unless created by [`Spans::with_unended`].
    unended: Option<Vec<Span<V>>>,
    /// The values of ends of no duration, if `unended` is not `None`.
    lone_ends: Vec<V>,
    /// Begins that are open at the end of the archive.
    open: Vec<Span<V>>,
}

impl<V> Done<V> {
    fn lone_end(&mut self, value: V) {
        if self.unended.is_some() {
            self.lone_ends.push(value);
        }
    }
}

impl<V> Default for Done<V> {
    fn default() -> Self {
        let (spans, open) = (Vec::new(), Vec::new());
        let (oddities, unended, lone_ends) = (Oddities::default(), None, Vec::new());
        Self { spans, oddities, unended, lone_ends, open }
    }
}

impl Default for Spans {
    fn default() -> Self {
        Self::with_values()
    }
}

impl Spans {
    /// Starts for a caller that also requires begins without an end:
    /// [`take_unended`](Self::take_unended) returns them.
    #[must_use]
    pub fn with_unended() -> Self {
        Self::with_values_and_unended()
    }

    /// Adds the next record of the archive, of any type. Returns the durations that are complete
    /// now, in no particular order.
    #[inline]
    pub fn record(&mut self, item: &Item<'_>) -> std::vec::Drain<'_, Span> {
        self.record_with(item, ())
    }
}

impl<V: Copy + Default> Spans<V> {
    /// Starts for a caller that adds values by [`record_with`](Self::record_with).
    #[must_use]
    pub fn with_values() -> Self {
        let (catalog, threads, done) = (Catalog::default(), Vec::new(), Done::default());
        Self { catalog, threads, waiting: 0, pending: 0, max_pending: MAX_PENDING, done }
    }

    /// Starts for a caller that adds values and also requires begins without an end:
    /// [`take_unended`](Self::take_unended) returns them.
    #[must_use]
    pub fn with_values_and_unended() -> Self {
        let done = Done { unended: Some(Vec::new()), ..Done::default() };
        Self { done, ..Self::with_values() }
    }

    /// Returns whether there are new begins without an end or ends without a begin, for callers
    /// that take them.
    #[inline]
    #[must_use]
    pub fn has_unpaired(&self) -> bool {
        let Done { unended, lone_ends, .. } = &self.done;
        let has_unended = unended.as_ref().is_some_and(|unended| !unended.is_empty());
        has_unended || !lone_ends.is_empty()
    }

    /// Returns new begins without an end, as durations without a length. They are counted, too.
    pub fn take_unended(&mut self) -> Vec<Span<V>> {
        self.done.unended.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the values of new ends without a begin. Empty unless created by
    /// [`with_values_and_unended`](Self::with_values_and_unended).
    pub fn take_lone_ends(&mut self) -> Vec<V> {
        std::mem::take(&mut self.done.lone_ends)
    }

    /// Returns the begins that are open at the end of the archive, as durations without a length.
    /// Those in a duration that has ended are not among them. Empty before
    /// [`finish`](Self::finish).
    pub fn take_open(&mut self) -> Vec<Span<V>> {
        std::mem::take(&mut self.done.open)
    }

    /// Returns the names and threads so far.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the names and threads so far, for a caller that numbers more of them.
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }

    /// Returns the names and threads of the archive.
    #[must_use]
    pub fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// Adds the next record of the archive, of any type. If it begins or ends a duration, the
    /// duration gets `value`. Returns the durations that are complete now, in no particular order.
    #[inline]
    pub fn record_with(&mut self, item: &Item<'_>, value: V) -> std::vec::Drain<'_, Span<V>> {
        match &item.record {
            Record::Event(event) => self.event(item, event, value),
            _ => self.catalog.note(item),
        }
        self.done.spans.drain(..)
    }

    #[inline]
    fn event(&mut self, item: &Item<'_>, event: &Event<'_>, value: V) {
        let (kind, end) = match event.kind {
            EventKind::DurationComplete { end } => (window::Kind::Complete, end),
            EventKind::DurationBegin => (window::Kind::Begin, u64::MAX),
            EventKind::DurationEnd => (window::Kind::End, event.ticks),
            EventKind::AsyncInstant { .. } => (window::Kind::Mark, event.ticks),
            _ => return,
        };
        let role = roles::of(item, event);
        if kind == window::Kind::Mark && role == Role::Duration {
            return;
        }
        let label = self.catalog.label(item, event.category, event.name);
        let thread = self.catalog.thread(item, event.thread);
        let rate = item.provider.tick_rate();
        self.push((thread, rate), Entry { at: event.ticks, end, label, kind, role, value });
    }

    #[inline]
    fn push(&mut self, (thread, rate): (ThreadId, TickRate), mut entry: Entry<V>) {
        if entry.end < entry.at {
            self.done.oddities.reversed += 1;
            entry.end = entry.at;
        }
        while self.threads.len() <= thread.place() {
            let thread = ThreadId(self.threads.len() as u32);
            self.threads.push(ThreadSpans::new(thread, self.catalog.koids(thread), rate));
        }
        let Some(spans) = self.threads.get_mut(thread.place()) else { return };
        if spans.rate() != rate {
            spans.finish(&self.catalog, &mut self.done);
            *spans = ThreadSpans::new(thread, self.catalog.koids(thread), rate);
        }
        self.waiting += 1;
        if spans.push(entry) || self.waiting > MAX_WAITING {
            self.advance(thread);
        }
    }

    /// Empties half of a full window, or of all windows if they have too many events.
    #[cold]
    #[inline(never)]
    fn advance(&mut self, thread: ThreadId) {
        if self.waiting > MAX_WAITING {
            for spans in &mut self.threads {
                spans.advance(&self.catalog, &mut self.done);
                spans.shrink();
            }
        } else if let Some(spans) = self.threads.get_mut(thread.place()) {
            spans.advance(&self.catalog, &mut self.done);
        }
        self.waiting = self.threads.iter().map(ThreadSpans::waiting).sum();
        self.pending = self.threads.iter().map(ThreadSpans::pending).sum();
        if self.pending > self.max_pending {
            self.threads.iter_mut().for_each(ThreadSpans::compact);
            self.pending = self.threads.iter().map(ThreadSpans::pending).sum();
            // Those between many open durations cannot be grouped, and are not to be tried again
            // for each window.
            self.max_pending = MAX_PENDING.max(2 * self.pending);
        }
    }

    /// Returns the remaining durations, at the end of the archive.
    pub fn finish(&mut self) -> std::vec::Drain<'_, Span<V>> {
        for spans in &mut self.threads {
            spans.finish(&self.catalog, &mut self.done);
        }
        self.done.spans.drain(..)
    }

    /// Returns the number of unpaired and malformed events so far.
    #[must_use]
    pub fn oddities(&self) -> Oddities {
        self.done.oddities
    }
}

#[cfg(test)]
mod tests;
