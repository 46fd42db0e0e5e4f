//! Durations that have begun and not ended.
//!
//! The events of a track can be of several threads, whose chunks stand in the
//! archive in any order: an end can come before its begin. So the events of
//! each thread or track are collected and paired in the order of time, all at
//! once when there are [`MAX_WAITING`].

use std::collections::HashMap;

use trace_format::layout::cut_str;
use trace_format::{Event, EventKind, Item, ThreadKoids};

use super::OpenScope;
use crate::references::{peek_text, peek_thread};

/// The most begins and ends that are remembered; of those without another
/// half, half as many. Beyond, they are counted.
const MAX_WAITING: usize = 1 << 17;

/// The most threads that are told apart.
const MAX_THREADS: usize = 1 << 16;

/// How much of a name is remembered. A small record can refer to a long one.
const MAX_NAME_BYTES: usize = 256;

/// The most open scopes in a report.
const MAX_REPORTED: usize = 1000;

/// Durations that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    threads: HashMap<ThreadKoids, OnThread>,
    waiting: usize,
    /// Begins less ends of all threads that do not fit.
    elsewhere: u64,
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

/// The begins and ends of one thread.
#[derive(Debug, Default)]
struct OnThread {
    halves: Vec<Half>,
    /// Begins that are only counted.
    others: u64,
}

#[derive(Debug)]
enum Half {
    Begin(OpenScope),
    /// When it is, in nanoseconds.
    End(u64),
}

impl Half {
    fn nanos(&self) -> u64 {
        match self {
            Self::Begin(scope) => scope.nanos,
            Self::End(nanos) => *nanos,
        }
    }
}

impl Scopes {
    pub(super) fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let is_begin = match event.kind {
            EventKind::DurationBegin => true,
            EventKind::DurationEnd => false,
            _ => return,
        };
        let thread = peek_thread(item, event.thread);
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&thread) {
            return self.elsewhere(is_begin);
        }
        let nanos = item.nanos(event.ticks);
        let text = |text| cut_str(&peek_text(item, text), MAX_NAME_BYTES).to_owned();
        let half = match is_begin {
            true => Half::Begin(OpenScope {
                thread,
                category: text(event.category),
                name: text(event.name),
                nanos,
            }),
            false => Half::End(nanos),
        };
        self.threads.entry(thread).or_default().halves.push(half);
        self.waiting += 1;
        if self.waiting >= MAX_WAITING {
            self.make_room();
        }
    }

    fn elsewhere(&mut self, is_begin: bool) {
        match (is_begin, self.elsewhere.checked_sub(1)) {
            (true, _) => self.elsewhere += 1,
            (false, Some(rest)) => self.elsewhere = rest,
            (false, None) => self.ends_without_begin += 1,
        }
    }

    #[cold]
    fn make_room(&mut self) {
        self.threads.values_mut().for_each(OnThread::pair);
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
        let mut scopes = Vec::new();
        let mut count = self.elsewhere;
        for of in self.threads.values_mut() {
            of.pair();
            count += of.others;
            for half in of.halves.drain(..) {
                match half {
                    Half::Begin(scope) => scopes.push(scope),
                    Half::End(_) => self.ends_without_begin += 1,
                }
            }
        }
        count += scopes.len() as u64;
        scopes.sort_by_key(|scope| (scope.nanos, scope.thread.process, scope.thread.thread));
        scopes.truncate(MAX_REPORTED);
        Unpaired {
            open_scopes: scopes,
            open_scope_count: count,
            ends_without_begin: self.ends_without_begin,
        }
    }
}

impl OnThread {
    /// Pairs what can be paired: an end is that of the last begin before it
    /// that has none. What is left is in order, ends first.
    fn pair(&mut self) {
        // Of one time the order stays.
        self.halves.sort_by_key(Half::nanos);
        let (mut ends, mut open): (Vec<u64>, Vec<OpenScope>) = Default::default();
        for half in self.halves.drain(..) {
            match half {
                // The end may be of another thread, whose chunk came before.
                Half::Begin(scope) if ends.last() == Some(&scope.nanos) => drop(ends.pop()),
                Half::Begin(scope) => open.push(scope),
                Half::End(nanos) if open.pop().is_none() => ends.push(nanos),
                Half::End(_) => {}
            }
        }
        // The begins that are only counted came in an earlier piece.
        let of_others = ends.len().min(usize::try_from(self.others).unwrap_or(usize::MAX));
        self.others -= of_others as u64;
        self.halves.extend(ends.into_iter().skip(of_others).map(Half::End));
        self.halves.extend(open.into_iter().map(Half::Begin));
    }

    /// Keeps the first `most` begins; others are counted from now on. Returns
    /// how many ends are forgotten, the oldest.
    fn keep(&mut self, most: usize) -> u64 {
        let ends = self.halves.partition_point(|half| matches!(half, Half::End(_)));
        let forgotten = ends.saturating_sub(most / 2);
        self.halves.drain(..forgotten);
        let before = self.halves.len();
        self.halves.truncate(most);
        self.others += (before - self.halves.len()) as u64;
        forgotten as u64
    }
}
