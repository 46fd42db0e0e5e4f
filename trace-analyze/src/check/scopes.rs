//! Durations that have begun and not ended.
//!
//! The events of a track can be of several threads, whose chunks stand in the
//! archive in any order: an end can come before its begin. So the events of
//! each thread or track are collected and paired in the order of time, all at
//! once when there are [`MAX_WAITING`].

use std::collections::HashMap;

use trace_format::layout::cut_str;
use trace_format::{Event, EventKind, Item, Record, ThreadKoids};

use super::OpenScope;
use crate::catalog::{Catalog, LabelId};
use crate::pairing::{begin_of, Pattern};

/// The most begins and ends that are remembered; of those without another
/// half, half as many. Beyond, they are counted.
const MAX_WAITING: usize = 1 << 17;

/// The most threads that are told apart.
const MAX_THREADS: usize = 1 << 16;

/// How much of a name is told. A small record can refer to a long one.
const MAX_NAME_BYTES: usize = 256;

/// The most open scopes in a report.
const MAX_REPORTED: usize = 1000;

/// Durations that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    catalog: Catalog,
    threads: HashMap<ThreadKoids, OnThread>,
    waiting: usize,
    /// Begins less ends of all threads that do not fit.
    elsewhere: u64,
    lost: Lost,
    ends_without_begin: u64,
}

/// What has not ended, and what has not begun.
#[derive(Debug, Default)]
pub(super) struct Unpaired {
    /// The first of the open scopes, by time.
    pub(super) open_scopes: Vec<OpenScope>,
    pub(super) open_scope_count: u64,
    pub(super) ends_without_begin: u64,
}

/// Begins whose end will not come.
#[derive(Debug, Default)]
struct Lost {
    /// The first of them by time, after [`Lost::keep_first`].
    begins: Vec<(u64, ThreadKoids, LabelId)>,
    count: u64,
}

/// The begins and ends of one thread.
#[derive(Debug, Default)]
struct OnThread {
    halves: Vec<Half>,
    /// Begins that are only counted.
    others: u64,
}

/// A begin or an end, at a time in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Half {
    nanos: u64,
    label: LabelId,
    is_end: bool,
}

impl Scopes {
    pub(super) fn record(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) => self.event(item, event),
            _ => self.catalog.note(item),
        }
    }

    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let is_end = match event.kind {
            EventKind::DurationBegin => false,
            EventKind::DurationEnd => true,
            _ => return,
        };
        let thread = item.thread(event.thread);
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&thread) {
            return self.elsewhere(is_end);
        }
        let label = self.catalog.label(item, event.category, event.name);
        let half = Half { nanos: item.nanos(event.ticks), label, is_end };
        self.threads.entry(thread).or_default().halves.push(half);
        self.waiting += 1;
        if self.waiting >= MAX_WAITING {
            self.make_room();
        }
    }

    fn elsewhere(&mut self, is_end: bool) {
        match (is_end, self.elsewhere.checked_sub(1)) {
            (false, _) => self.elsewhere += 1,
            (true, Some(rest)) => self.elsewhere = rest,
            (true, None) => self.ends_without_begin += 1,
        }
    }

    fn pair(&mut self) {
        for (thread, of) in &mut self.threads {
            of.pair(&self.catalog, |begin| self.lost.push(*thread, begin));
        }
    }

    #[cold]
    fn make_room(&mut self) {
        self.pair();
        self.threads.retain(|_, of| !of.halves.is_empty() || of.others > 0);
        let mut waiting = self.threads.values().map(|of| of.halves.len()).sum();
        if waiting > MAX_WAITING / 2 {
            let share = MAX_WAITING / 2 / self.threads.len().max(1);
            for of in self.threads.values_mut() {
                self.ends_without_begin += of.keep(share);
            }
            waiting = self.threads.values().map(|of| of.halves.len()).sum();
        }
        self.waiting = waiting;
    }

    /// Returns what is left at the end of the archive.
    pub(super) fn finish(mut self) -> Unpaired {
        self.pair();
        for (thread, of) in &self.threads {
            self.lost.count += of.others;
            for half in &of.halves {
                match half.is_end {
                    true => self.ends_without_begin += 1,
                    false => self.lost.push(*thread, *half),
                }
            }
        }
        self.lost.keep_first();
        let text = |text| cut_str(text, MAX_NAME_BYTES).to_owned();
        let scope = |(nanos, thread, label): &(u64, ThreadKoids, LabelId)| OpenScope {
            thread: *thread,
            category: text(self.catalog.category(*label)),
            name: text(self.catalog.name(*label)),
            nanos: *nanos,
        };
        Unpaired {
            open_scopes: self.lost.begins.iter().map(scope).collect(),
            open_scope_count: self.elsewhere + self.lost.count,
            ends_without_begin: self.ends_without_begin,
        }
    }
}

impl Lost {
    fn push(&mut self, thread: ThreadKoids, begin: Half) {
        self.count += 1;
        self.begins.push((begin.nanos, thread, begin.label));
        if self.begins.len() >= 2 * MAX_REPORTED {
            self.keep_first();
        }
    }

    fn keep_first(&mut self) {
        self.begins.sort_unstable();
        self.begins.truncate(MAX_REPORTED);
    }
}

impl OnThread {
    /// Pairs what can be paired; what is left is in order, ends first. Gives
    /// `lost` the begins in which a duration that is around them has ended.
    fn pair(&mut self, catalog: &Catalog, mut lost: impl FnMut(Half)) {
        // Of one time the order stays.
        self.halves.sort_by_key(|half| half.nanos);
        let (mut ends, mut open): (Vec<Half>, Vec<Half>) = Default::default();
        // The end may be of another thread, whose chunk came before.
        let is_early = |end: &Half, begin: &Half| {
            end.nanos == begin.nanos && Pattern::new(catalog, end.label).matches(begin.label)
        };
        for half in self.halves.drain(..) {
            if !half.is_end {
                match ends.last() {
                    Some(end) if is_early(end, &half) => drop(ends.pop()),
                    _ => open.push(half),
                }
                continue;
            }
            match begin_of(catalog, half.label, &open, |begin| Some(begin.label)) {
                Some(place) => open.drain(place..).skip(1).for_each(&mut lost),
                None => ends.push(half),
            }
        }
        // The begins that are only counted came in an earlier piece.
        let of_others = ends.len().min(usize::try_from(self.others).unwrap_or(usize::MAX));
        self.others -= of_others as u64;
        self.halves.extend(ends.into_iter().skip(of_others));
        self.halves.extend(open);
    }

    /// Keeps the first `most` begins; others are counted from now on. Returns
    /// how many ends are forgotten, the oldest.
    fn keep(&mut self, most: usize) -> u64 {
        let ends = self.halves.partition_point(|half| half.is_end);
        let forgotten = ends.saturating_sub(most / 2);
        self.halves.drain(..forgotten);
        let before = self.halves.len();
        self.halves.truncate(most);
        self.others += (before - self.halves.len()) as u64;
        forgotten as u64
    }
}
