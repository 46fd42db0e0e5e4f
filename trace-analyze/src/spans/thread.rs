//! The durations of one thread.

use trace_format::{ThreadKoids, TickRate};

use super::pending::Pending;
use super::window::{Entry, Kind, Window};
use super::{Done, Span};
use crate::catalog::{Catalog, LabelId, ThreadId};
use crate::pairing::{begin_of, MAX_SEARCH};

/// The most durations that are open at once; begins beyond it are only
/// counted.
const MAX_DEPTH: usize = 16 << 10;

/// Of fewer than this no lengths are put together.
const MIN_COMPACT: usize = 1 << 10;

/// The durations of one thread.
#[derive(Debug)]
pub(super) struct ThreadSpans {
    thread: ThreadId,
    koids: ThreadKoids,
    rate: TickRate,
    window: Window,
    open: Vec<Open>,
    /// Begins that did not fit in `open`.
    beyond: u64,
    pending: Pending,
    /// The latest time that any event so far began or ended at.
    latest: u64,
}

/// A duration around whatever comes next.
#[derive(Debug, Clone, Copy)]
struct Open {
    begin: u64,
    /// When it ends, `u64::MAX` if that is not known.
    end: u64,
    /// A begin whose end has not come.
    is_begin: bool,
    /// When it or one around it ends.
    limit: u64,
    /// The sum of the lengths of durations directly in it; for those with a
    /// known end from their begin on.
    inner: u64,
    label: LabelId,
}

impl Open {
    /// Tells whether it, or one around it, is over when `entry` begins. If that
    /// is at the same time, the end of a begin may still come, and what takes
    /// no time, or has no end yet, may belong in it.
    #[inline]
    fn is_over(&self, entry: &Entry) -> bool {
        let may_hold = || self.is_begin && (entry.end == entry.at || entry.kind == Kind::Begin);
        self.limit < entry.at || (self.limit == entry.at && !may_hold())
    }
}

impl ThreadSpans {
    pub(super) fn new(thread: ThreadId, koids: ThreadKoids, rate: TickRate) -> Self {
        Self {
            thread,
            koids,
            rate,
            window: Window::default(),
            open: Vec::new(),
            beyond: 0,
            pending: Pending::default(),
            latest: 0,
        }
    }

    pub(super) fn rate(&self) -> TickRate {
        self.rate
    }

    /// Takes an event; tells whether it is time to [`ThreadSpans::advance`].
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        self.window.push(entry)
    }

    pub(super) fn waiting(&self) -> usize {
        self.window.len()
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Goes on with the older half of the events that wait.
    pub(super) fn advance(&mut self, catalog: &Catalog, done: &mut Done) {
        let mut window = std::mem::take(&mut self.window);
        window.older_half().for_each(|entry| self.entry(catalog, entry, done));
        self.window = window;
    }

    /// Goes on to the end.
    pub(super) fn finish(&mut self, catalog: &Catalog, done: &mut Done) {
        let mut window = std::mem::take(&mut self.window);
        window.all().for_each(|entry| self.entry(catalog, entry, done));
        while !self.open.is_empty() {
            self.close_last(done);
        }
        done.oddities.begins_without_end += std::mem::take(&mut self.beyond);
    }

    /// Gives memory back that a full window has taken.
    pub(super) fn shrink(&mut self) {
        self.window.shrink();
    }

    /// Keeps fewer lengths of closed durations.
    pub(super) fn compact(&mut self) {
        if self.pending.len() >= MIN_COMPACT {
            self.pending.compact(self.open.iter().map(|open| open.begin));
        }
    }

    #[inline]
    fn entry(&mut self, catalog: &Catalog, entry: Entry, done: &mut Done) {
        match entry.kind {
            Kind::Complete | Kind::Begin => self.start(entry, done),
            Kind::End => self.end(catalog, entry, done),
        }
    }

    #[inline]
    fn start(&mut self, entry: Entry, done: &mut Done) {
        if entry.at > self.latest {
            self.latest = entry.at;
            self.close_before(&entry, done);
            self.open_last(entry, done);
        } else {
            self.start_late(entry, done);
        }
    }

    /// Closes what is over when `entry` begins.
    #[inline]
    fn close_before(&mut self, entry: &Entry, done: &mut Done) {
        while self.open.last().is_some_and(|last| last.is_over(entry)) {
            self.close_last(done);
        }
    }

    /// Closes the innermost duration.
    #[inline]
    fn close_last(&mut self, done: &mut Done) {
        let Some(open) = self.open.pop() else { return };
        if open.is_begin {
            done.oddities.begins_without_end += 1;
            // What is in it is in the one around it.
            if let Some(around) = self.around(self.open.len(), open.begin) {
                around.inner = around.inner.saturating_add(open.inner);
            }
            return;
        }
        match self.pending.last_begin() {
            // One that began as it ended was closed before it.
            Some(last) if last >= open.end => self.pending.insert(open.begin, open.end),
            _ => self.pending.close(open.begin, open.end),
        }
        done.spans.push(self.span(&open));
    }

    #[inline]
    fn span(&self, open: &Open) -> Span {
        let Open { begin, end, inner, label, .. } = *open;
        let self_ticks = (end - begin).saturating_sub(inner);
        let Self { thread, koids, rate, .. } = *self;
        Span { label, thread, koids, rate, begin, end, self_ticks }
    }

    /// Opens a duration inside all that are open.
    #[inline]
    fn open_last(&mut self, entry: Entry, done: &mut Done) {
        let Entry { at: begin, end, label, kind } = entry;
        if self.open.len() >= MAX_DEPTH {
            return self.too_deep(entry, done);
        }
        let mut limit = end;
        if let Some(around) = self.around(self.open.len(), begin) {
            limit = end.min(around.limit);
            if kind == Kind::Complete {
                let within = end.min(around.end).saturating_sub(begin);
                around.inner = around.inner.saturating_add(within);
            }
        }
        let is_begin = kind == Kind::Begin;
        self.open.push(Open { begin, end, is_begin, limit, inner: 0, label });
    }

    #[cold]
    fn too_deep(&mut self, entry: Entry, done: &mut Done) {
        match entry.kind {
            Kind::Begin => self.beyond += 1,
            _ => self.give_up(entry, done),
        }
    }

    /// Takes a duration whose place is not to be found.
    fn give_up(&self, entry: Entry, done: &mut Done) {
        let Entry { at: begin, end, label, .. } = entry;
        done.oddities.misplaced += 1;
        done.spans.push(self.span(&Open {
            begin,
            end,
            is_begin: false,
            limit: end,
            inner: 0,
            label,
        }));
    }

    /// Takes a duration that does not begin behind everything else: one that
    /// stands behind what is in it, or one of a clock that stood still.
    fn start_late(&mut self, entry: Entry, done: &mut Done) {
        let Entry { at, end, kind, .. } = entry;
        if kind == Kind::Begin {
            return self.begin_late(entry, done);
        }
        if at == self.latest {
            self.close_before_but_at(&entry, done);
        }
        let encloses = |open: &Open| open.begin > at || (open.begin == at && open.limit < end);
        let inside = self.open.iter().rev().take(MAX_SEARCH).position(|open| !encloses(open));
        let inside = inside.unwrap_or(self.open.len());
        if inside >= MAX_SEARCH || self.open.len() >= MAX_DEPTH {
            return self.give_up(entry, done);
        }
        let around = self.open.len() - inside;
        match self.open.get(around).copied() {
            Some(inner) if inner.begin < end => self.enclose(around, inner, entry, done),
            None if end > self.latest => self.open_late(entry, done),
            _ => self.close_late(around, entry, done),
        }
    }

    /// Takes a begin that is not later than everything else.
    fn begin_late(&mut self, entry: Entry, done: &mut Done) {
        if entry.at == self.latest {
            self.close_before(&entry, done);
        } else {
            done.oddities.misplaced += 1;
        }
        self.open_last(entry, done);
    }

    /// Closes what is over when `entry` begins, unless it also begins there: it
    /// may belong in `entry`.
    fn close_before_but_at(&mut self, entry: &Entry, done: &mut Done) {
        while self.open.last().is_some_and(|last| last.is_over(entry) && last.begin < entry.at) {
            self.close_last(done);
        }
    }

    /// Puts a duration around `inner`, which is at `place` among the open ones.
    fn enclose(&mut self, place: usize, inner: Open, entry: Entry, done: &mut Done) {
        let Entry { at: begin, end, label, .. } = entry;
        done.oddities.misplaced += u64::from(self.pending.cuts(begin));
        let inner_ticks = if inner.is_begin { 0 } else { inner.end - inner.begin };
        let taken = self.pending.sum(begin, inner.begin).saturating_add(inner_ticks);
        let limit = self.take_over(place, begin, end, taken);
        self.open.insert(place, Open { begin, end, is_begin: false, limit, inner: taken, label });
        let mut limit = limit;
        for open in self.open.iter_mut().skip(place + 1) {
            limit = limit.min(open.end);
            open.limit = limit;
        }
    }

    /// Opens a duration inside all that are open, around closed ones.
    fn open_late(&mut self, entry: Entry, done: &mut Done) {
        let Entry { at: begin, end, label, .. } = entry;
        done.oddities.misplaced += u64::from(self.pending.cuts(begin));
        let taken = self.pending.sum(begin, end);
        let limit = self.take_over(self.open.len(), begin, end, taken);
        self.open.push(Open { begin, end, is_begin: false, limit, inner: taken, label });
    }

    /// Takes a duration that is over.
    fn close_late(&mut self, place: usize, entry: Entry, done: &mut Done) {
        let Entry { at: begin, end, label, .. } = entry;
        // Cut: a duration of a group, or one that is closed and around this.
        if self.pending.cuts(begin) || self.pending.cuts(end) || self.pending.is_far(end) {
            return self.give_up(entry, done);
        }
        let taken = self.pending.sum(begin, end);
        self.take_over(place, begin, end, taken);
        self.pending.insert(begin, end);
        done.spans.push(self.span(&Open {
            begin,
            end,
            is_begin: false,
            limit: end,
            inner: taken,
            label,
        }));
    }

    /// Moves `taken` from the duration around `place` into a new one in it;
    /// returns the new one's limit.
    fn take_over(&mut self, place: usize, begin: u64, end: u64, taken: u64) -> u64 {
        let Some(around) = self.around(place, begin) else { return end };
        let within = end.min(around.end).saturating_sub(begin);
        around.inner = around.inner.saturating_add(within).saturating_sub(taken);
        end.min(around.limit)
    }

    /// Returns what is around a duration at `place`: not what is over when it
    /// begins.
    #[inline]
    fn around(&mut self, place: usize, begin: u64) -> Option<&mut Open> {
        let outer = self.open.get_mut(..place).unwrap_or_default();
        outer.iter_mut().rev().take(MAX_SEARCH).find(|open| open.limit > begin)
    }

    fn end(&mut self, catalog: &Catalog, entry: Entry, done: &mut Done) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let begin = |open: &Open| open.is_begin.then_some(open.label);
        let Some(place) = begin_of(catalog, entry.label, &self.open, begin) else {
            done.oddities.ends_without_begin += 1;
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
        done.spans.push(self.span(&open));
    }

    /// Returns how many of the durations above the begin at `place` are around
    /// it: they begin with it, and are not over when it ends.
    fn outer(&self, place: usize, end: u64) -> usize {
        let Some((begin, above)) = self.open.get(place..).and_then(<[Open]>::split_first) else {
            return 0;
        };
        let is_outer = |open: &&Open| open.begin == begin.begin && open.end > end && !open.is_begin;
        above.iter().take_while(is_outer).count()
    }

    /// Moves the begin at `place` into the durations above it, the last
    /// ones that are open. What is in them by now is in it.
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
