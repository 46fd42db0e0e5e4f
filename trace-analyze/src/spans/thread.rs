//! The durations of one thread.

mod late;

use trace_format::{ThreadKoids, TickRate};

use super::pending::Pending;
use super::window::{Entry, Kind, Window};
use super::{Done, Role, Span};
use crate::catalog::{Catalog, LabelId, ThreadId};
use crate::pairing::{begin_of, MAX_SEARCH};

/// The least closed durations that are grouped.
const MIN_COMPACT: usize = 1 << 10;

/// The durations of one thread.
#[derive(Debug)]
pub(super) struct ThreadSpans<V> {
    thread: ThreadId,
    koids: ThreadKoids,
    rate: TickRate,
    window: Window<V>,
    open: Vec<Open<V>>,
    pending: Pending,
    /// The latest begin or end so far.
    latest: u64,
}

/// An open duration.
#[derive(Debug, Clone, Copy)]
struct Open<V> {
    begin: u64,
    /// Its end, or `u64::MAX` if that is unknown.
    end: u64,
    /// A begin without an end so far.
    is_begin: bool,
    /// The earliest end of this duration and those around it.
    limit: u64,
    /// The sum of the lengths of durations directly in it. Open ones count if their end is known.
    inner: u64,
    label: LabelId,
    role: Role,
    /// The value of the begin.
    value: V,
}

impl<V> Open<V> {
    /// Returns the duration of a complete event, with the time that inner ones take.
    fn complete(entry: Entry<V>, limit: u64, inner: u64) -> Self {
        let Entry { at: begin, end, label, role, value, .. } = entry;
        Self { begin, end, is_begin: false, limit, inner, label, role, value }
    }

    /// Returns whether it, or one around it, has ended when `entry` begins. If both are at one
    /// time, the end of a begin may still come, and `entry` may belong in it if `entry` takes no
    /// time or has no end yet.
    #[inline]
    fn has_ended(&self, entry: &Entry<V>) -> bool {
        let may_hold = || self.is_begin && (entry.end == entry.at || entry.kind == Kind::Begin);
        self.limit < entry.at || (self.limit == entry.at && !may_hold())
    }
}

impl<V: Copy + Default> ThreadSpans<V> {
    pub(super) fn new(thread: ThreadId, koids: ThreadKoids, rate: TickRate) -> Self {
        Self {
            thread,
            koids,
            rate,
            window: Window::default(),
            open: Vec::new(),
            pending: Pending::default(),
            latest: 0,
        }
    }

    pub(super) fn rate(&self) -> TickRate {
        self.rate
    }

    /// Adds an event, and returns whether the window is full.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<V>) -> bool {
        self.window.push(entry)
    }

    pub(super) fn waiting(&self) -> usize {
        self.window.len()
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Processes the older half of the window.
    pub(super) fn advance(&mut self, catalog: &Catalog, done: &mut Done<V>) {
        let mut window = std::mem::take(&mut self.window);
        window.older_half().for_each(|entry| self.entry(catalog, entry, done));
        self.window = window;
    }

    /// Processes the remaining events, and closes all durations.
    pub(super) fn finish(&mut self, catalog: &Catalog, done: &mut Done<V>) {
        let mut window = std::mem::take(&mut self.window);
        window.all().for_each(|entry| self.entry(catalog, entry, done));
        let still_open = self.open.iter().filter(|open| open.is_begin && open.limit == u64::MAX);
        done.open
            .extend(still_open.map(|open| self.span(Open { end: open.begin, inner: 0, ..*open })));
        while !self.open.is_empty() {
            self.close_last(done);
        }
    }

    /// Frees memory of the window.
    pub(super) fn shrink(&mut self) {
        self.window.shrink();
    }

    /// Groups the lengths of closed durations.
    pub(super) fn compact(&mut self) {
        if self.pending.len() >= MIN_COMPACT {
            self.pending.compact(self.open.iter().map(|open| open.begin));
        }
    }

    #[inline]
    fn entry(&mut self, catalog: &Catalog, entry: Entry<V>, done: &mut Done<V>) {
        match entry.kind {
            Kind::Complete | Kind::Begin => self.start(entry, done),
            Kind::End => self.end(catalog, entry, done),
            Kind::Mark => self.mark(entry),
        }
    }

    #[inline]
    fn start(&mut self, entry: Entry<V>, done: &mut Done<V>) {
        if entry.at > self.latest {
            self.latest = entry.at;
            self.close_before(&entry, done);
            self.open_last(entry);
        } else {
            self.start_late(entry, done);
        }
    }

    /// Closes the durations that have ended when `entry` begins.
    #[inline]
    fn close_before(&mut self, entry: &Entry<V>, done: &mut Done<V>) {
        while self.open.last().is_some_and(|last| last.has_ended(entry)) {
            self.close_last(done);
        }
    }

    /// Closes the innermost duration.
    #[inline]
    fn close_last(&mut self, done: &mut Done<V>) {
        let Some(open) = self.open.pop() else { return };
        if open.is_begin {
            done.oddities.begins_without_end += 1;
            if let Some(unended) = &mut done.unended {
                unended.push(self.span(Open { end: open.begin, inner: 0, ..open }));
            }
            // Its inner durations belong to the one around it.
            if let Some(around) = self.around(self.open.len(), open.begin) {
                around.inner = around.inner.saturating_add(open.inner);
            }
            return;
        }
        match self.pending.last_begin() {
            // A duration that began at its end was closed before it.
            Some(last) if last >= open.end => self.pending.insert(open.begin, open.end),
            _ => self.pending.close(open.begin, open.end),
        }
        done.spans.push(self.span(open));
    }

    #[inline]
    fn span(&self, open: Open<V>) -> Span<V> {
        let Open { begin, end, inner, label, role, value: begin_value, .. } = open;
        let self_ticks = (end - begin).saturating_sub(inner);
        let Self { thread, koids, rate, .. } = *self;
        let end_value = V::default();
        Span { label, thread, koids, rate, begin, end, self_ticks, role, begin_value, end_value }
    }

    /// Opens a duration inside all open ones.
    #[inline]
    fn open_last(&mut self, entry: Entry<V>) {
        let Entry { at: begin, end, label, kind, role, value } = entry;
        let mut limit = end;
        if let Some(around) = self.around(self.open.len(), begin) {
            limit = end.min(around.limit);
            if kind == Kind::Complete {
                let within = end.min(around.end).saturating_sub(begin);
                around.inner = around.inner.saturating_add(within);
            }
        }
        let is_begin = kind == Kind::Begin;
        self.open.push(Open { begin, end, is_begin, limit, inner: 0, label, role, value });
    }

    /// Completes a duration without a place among the others.
    fn give_up(&self, entry: Entry<V>, done: &mut Done<V>) {
        done.oddities.misplaced += 1;
        done.spans.push(self.span(Open::complete(entry, entry.end, 0)));
    }

    /// Moves the inner time `taken` from the duration around `place` into a new one in it. Returns
    /// the new one's limit.
    fn take_over(&mut self, place: usize, begin: u64, end: u64, taken: u64) -> u64 {
        let Some(around) = self.around(place, begin) else { return end };
        let within = end.min(around.end).saturating_sub(begin);
        around.inner = around.inner.saturating_add(within).saturating_sub(taken);
        end.min(around.limit)
    }

    /// Returns the duration around one at `place` that begins at `begin`. Ended ones are skipped.
    #[inline]
    fn around(&mut self, place: usize, begin: u64) -> Option<&mut Open<V>> {
        let outer = self.open.get_mut(..place).unwrap_or_default();
        outer.iter_mut().rev().take(MAX_SEARCH).find(|open| open.limit > begin)
    }

    fn end(&mut self, catalog: &Catalog, entry: Entry<V>, done: &mut Done<V>) {
        let begin = |open: &Open<V>| open.is_begin.then_some(open.label);
        let Some(place) = begin_of(catalog, entry.label, &self.open, begin) else {
            done.oddities.ends_without_begin += 1;
            done.lone_end(entry.value);
            return;
        };
        let outer = self.outer(place, entry.at);
        while self.open.len() > place + 1 + outer {
            self.close_last(done);
        }
        self.move_in(place);
        let Some(mut open) = self.open.pop() else { return };
        open.end = entry.at.max(open.begin);
        self.latest = self.latest.max(entry.at);
        self.take_over(self.open.len(), open.begin, open.end, 0);
        self.pending.close(open.begin, open.end);
        done.spans.push(Span { end_value: entry.value, ..self.span(open) });
    }

    /// Sets the role of the open duration that a mark belongs to.
    fn mark(&mut self, mark: Entry<V>) {
        let is_marked = |open: &&mut Open<V>| open.begin == mark.at && open.label == mark.label;
        if let Some(open) = self.open.iter_mut().rev().take(MAX_SEARCH).find(is_marked) {
            open.role = mark.role;
        }
    }

    /// Returns the number of durations above the begin at `place` that are around it: they begin at
    /// the same time, and end later.
    fn outer(&self, place: usize, end: u64) -> usize {
        let Some((begin, above)) = self.open.get(place..).and_then(<[Open<V>]>::split_first) else {
            return 0;
        };
        let is_outer =
            |open: &&Open<V>| open.begin == begin.begin && open.end > end && !open.is_begin;
        above.iter().take_while(is_outer).count()
    }

    /// Moves the begin at `place` into the durations above it, which are the last open ones. Their
    /// inner durations become its own.
    fn move_in(&mut self, place: usize) {
        let Some([begin, first, ..]) = self.open.get(place..) else { return };
        let (begin, first) = (*begin, *first);
        self.take_over(place, first.begin, first.end, 0);
        let Some(moved) = self.open.get_mut(place..) else { return };
        moved.rotate_left(1);
        if let [.., last, moved] = moved {
            let others = begin.inner.saturating_sub(first.end - first.begin);
            moved.inner = others.saturating_add(std::mem::take(&mut last.inner));
        }
    }
}
