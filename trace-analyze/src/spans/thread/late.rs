//! Durations that begin before earlier events of their thread.

use super::{Open, ThreadSpans};
use crate::pairing::MAX_SEARCH;
use crate::spans::window::{Entry, Kind};
use crate::spans::Done;

impl<V: Copy + Default> ThreadSpans<V> {
    /// Adds a duration that does not begin after all others: it comes after its inner ones, or the
    /// clock stood still.
    pub(super) fn start_late(&mut self, entry: Entry<V>, done: &mut Done<V>) {
        let Entry { at, end, kind, .. } = entry;
        if kind == Kind::Begin {
            return self.begin_late(entry, done);
        }
        if at == self.latest {
            self.close_before_but_at(&entry, done);
        }
        let encloses = |open: &Open<V>| open.begin > at || (open.begin == at && open.limit < end);
        let inside = self.open.iter().rev().take(MAX_SEARCH).position(|open| !encloses(open));
        let inside = inside.unwrap_or(self.open.len());
        if inside >= MAX_SEARCH {
            return self.give_up(entry, done);
        }
        let around = self.open.len() - inside;
        match self.open.get(around).copied() {
            Some(inner) if inner.begin < end => self.enclose(around, inner, entry, done),
            None if end > self.latest => self.open_late(entry, done),
            _ => self.close_late(around, entry, done),
        }
    }

    /// Adds a begin that is not later than all other events.
    fn begin_late(&mut self, entry: Entry<V>, done: &mut Done<V>) {
        if entry.at == self.latest {
            self.close_before(&entry, done);
        } else {
            done.oddities.misplaced += 1;
        }
        self.open_last(entry);
    }

    /// Closes the durations that have ended when `entry` begins. One that begins with `entry` stays
    /// open, because it may belong in `entry`.
    fn close_before_but_at(&mut self, entry: &Entry<V>, done: &mut Done<V>) {
        while self.open.last().is_some_and(|last| last.has_ended(entry) && last.begin < entry.at) {
            self.close_last(done);
        }
    }

    /// Opens a duration around `inner`, which is at `place` among the open ones.
    fn enclose(&mut self, place: usize, inner: Open<V>, entry: Entry<V>, done: &mut Done<V>) {
        let Entry { at: begin, end, .. } = entry;
        done.oddities.misplaced += u64::from(self.pending.cuts(begin));
        let inner_ticks = if inner.is_begin { 0 } else { inner.end - inner.begin };
        let taken = self.pending.sum(begin, inner.begin).saturating_add(inner_ticks);
        let limit = self.take_over(place, begin, end, taken);
        self.open.insert(place, Open::complete(entry, limit, taken));
        let mut limit = limit;
        for open in self.open.iter_mut().skip(place + 1) {
            limit = limit.min(open.end);
            open.limit = limit;
        }
    }

    /// Opens a duration inside all open ones, around closed ones.
    fn open_late(&mut self, entry: Entry<V>, done: &mut Done<V>) {
        let Entry { at: begin, end, .. } = entry;
        done.oddities.misplaced += u64::from(self.pending.cuts(begin));
        let taken = self.pending.sum(begin, end);
        let limit = self.take_over(self.open.len(), begin, end, taken);
        self.open.push(Open::complete(entry, limit, taken));
    }

    /// Adds a duration that has ended.
    fn close_late(&mut self, place: usize, entry: Entry<V>, done: &mut Done<V>) {
        let Entry { at: begin, end, .. } = entry;
        // It would cut a group, or a closed duration around it.
        if self.pending.cuts(begin) || self.pending.cuts(end) || self.pending.is_far(end) {
            return self.give_up(entry, done);
        }
        let taken = self.pending.sum(begin, end);
        self.take_over(place, begin, end, taken);
        self.pending.insert(begin, end);
        done.spans.push(self.span(Open::complete(entry, end, taken)));
    }
}
