//! Durations put together from begin, end and complete events.
//!
//! An archive has the events of a thread in pieces: a duration is one complete
//! event, or a begin and an end with anything between them; a complete event
//! stands where its duration begins (as our own archives have it) or where it
//! ends, behind all that is in it (as other programs write it); a buffer's
//! chunks can be out of order. [`Spans`] makes whole durations of them, with
//! the time in each that no inner duration takes, in one pass.
//!
//! # How
//!
//! Each thread of each provider is by itself: its times are ticks of one clock. If the provider
//! says that its clock has another rate from now on, what is open by then ends with the old one,
//! without an end. Its events pass through a window that puts them in the order of time, and then
//! over a stack of the durations that are open there. A duration that comes behind what is in it
//! takes over the closed durations that it encloses; their lengths are kept for that.
//!
//! # What is exact
//!
//! - Times, always.
//! - The self time, if events are out of order by less than 8192 events of
//!   their thread, and complete events that stand behind what is in them have
//!   less than 200,000 durations directly in them. Beyond that, a duration
//!   that is out of order may count for the wrong one around it, and lengths
//!   are kept for groups of neighbours; [`Oddities::misplaced`] counts what
//!   may be wrong.
//!
//! # What is odd
//!
//! An end belongs to the innermost open begin of the same category and name,
//! among the 1024 innermost; where its category or its name is empty, any will
//! do. Begins inside that one have lost their end. What has lost its other half,
//! before the archive's start, behind its end, or in a gap, has no length: it is
//! counted and left out.

mod pending;
mod thread;
mod window;

use trace_format::{Event, EventKind, Item, Record, ThreadKoids, TickRate};

use crate::catalog::{Catalog, LabelId, ThreadId};
use thread::ThreadSpans;

/// The most durations whose lengths are kept for one that may enclose them, on
/// all threads together.
const MAX_PENDING: usize = 1 << 20;

/// The most events in the windows of all threads.
const MAX_WAITING: usize = 2 << 20;

/// A duration on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its category and name, of [`Spans::catalog`].
    pub label: LabelId,
    /// Its thread, of [`Spans::catalog`].
    pub thread: ThreadId,
    /// The same thread.
    pub koids: ThreadKoids,
    /// The clock of its times.
    pub rate: TickRate,
    /// When it began, in ticks of its thread's clock.
    pub begin: u64,
    /// When it ended, not before it began.
    pub end: u64,
    /// How much of it no duration directly in it takes, in ticks.
    pub self_ticks: u64,
}

impl Span {
    /// Returns how long it took, in nanoseconds, rounded to the nearest.
    #[inline]
    #[must_use]
    pub fn nanos(&self) -> u64 {
        self.rate.length_to_nanos(self.end - self.begin)
    }

    /// Returns how much of that no duration directly in it takes.
    #[inline]
    #[must_use]
    pub fn self_nanos(&self) -> u64 {
        self.rate.length_to_nanos(self.self_ticks)
    }
}

/// What did not fit together, in events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oddities {
    /// Begins whose end is not there.
    pub begins_without_end: u64,
    /// Ends whose begin is not there.
    pub ends_without_begin: u64,
    /// Complete events that end before they begin; taken as of length 0.
    pub reversed: u64,
    /// Durations so far out of order that the self time of what is around
    /// them may be wrong.
    pub misplaced: u64,
}

/// Puts durations together.
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
#[derive(Debug, Default)]
pub struct Spans {
    catalog: Catalog,
    threads: Vec<ThreadSpans>,
    waiting: usize,
    pending: usize,
    done: Done,
}

/// What is complete.
#[derive(Debug, Default)]
struct Done {
    spans: Vec<Span>,
    oddities: Oddities,
}

impl Spans {
    /// Returns the names and threads of what went through here.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the same to number more names.
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }

    /// Takes the next record of the archive, of any type; returns the durations that are complete
    /// by now, in no particular order.
    #[inline]
    pub fn record(&mut self, item: &Item<'_>) -> std::vec::Drain<'_, Span> {
        match &item.record {
            Record::Event(event) => self.event(item, event),
            _ => self.catalog.note(item),
        }
        self.done.spans.drain(..)
    }

    #[inline]
    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let (kind, end) = match event.kind {
            EventKind::DurationComplete { end } => (window::Kind::Complete, end),
            EventKind::DurationBegin => (window::Kind::Begin, u64::MAX),
            EventKind::DurationEnd => (window::Kind::End, event.ticks),
            _ => return,
        };
        let label = self.catalog.label(item, event.category, event.name);
        let thread = self.catalog.thread(item, event.thread);
        let rate = item.provider.tick_rate();
        self.push((thread, rate), window::Entry { at: event.ticks, end, label, kind });
    }

    #[inline]
    fn push(&mut self, (thread, rate): (ThreadId, TickRate), mut entry: window::Entry) {
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
            self.make_room(thread);
        }
    }

    /// Moves events out of a full window, or out of all of them.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, thread: ThreadId) {
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
        if self.pending > MAX_PENDING {
            self.threads.iter_mut().for_each(ThreadSpans::compact);
        }
    }

    /// Returns the rest, at the end of the archive.
    pub fn finish(&mut self) -> std::vec::Drain<'_, Span> {
        for spans in &mut self.threads {
            spans.finish(&self.catalog, &mut self.done);
        }
        self.done.spans.drain(..)
    }

    /// Returns what did not fit together so far.
    #[must_use]
    pub fn oddities(&self) -> Oddities {
        self.done.oddities
    }
}

#[cfg(test)]
mod tests;
