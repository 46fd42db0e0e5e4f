//! Durations that have begun and not ended.

use std::collections::HashMap;

use trace_format::layout::cut_str;
use trace_format::{Event, EventKind, Item, ThreadKoids};

use super::OpenScope;
use crate::references::{peek_text, peek_thread};

/// The most open scopes that are remembered; beyond, they are counted.
const MAX_REMEMBERED: usize = 1 << 16;

/// The most threads that are told apart.
const MAX_THREADS: usize = 1 << 16;

/// How much of a name is remembered. A small record can refer to a long one.
const MAX_NAME_BYTES: usize = 256;

/// The most open scopes in a report.
const MAX_REPORTED: usize = 1000;

/// Durations that have begun and not ended, in the order of the archive.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    threads: HashMap<ThreadKoids, OpenOnThread>,
    remembered: usize,
    /// Begins less ends of all threads that do not fit.
    elsewhere: u64,
    pub(super) ends_without_begin: u64,
}

/// The open durations of one thread: first those remembered, then the others.
#[derive(Debug, Default)]
struct OpenOnThread {
    scopes: Vec<OpenScope>,
    others: u64,
}

impl Scopes {
    pub(super) fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        match event.kind {
            EventKind::DurationBegin => self.begin(item, event),
            EventKind::DurationEnd => self.end(peek_thread(item, event.thread)),
            _ => {}
        }
    }

    fn begin(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let thread = peek_thread(item, event.thread);
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&thread) {
            self.elsewhere += 1;
            return;
        }
        let open = self.threads.entry(thread).or_default();
        if open.others > 0 || self.remembered >= MAX_REMEMBERED {
            open.others += 1;
            return;
        }
        self.remembered += 1;
        open.scopes.push(OpenScope {
            thread,
            category: cut_str(&peek_text(item, event.category), MAX_NAME_BYTES).to_owned(),
            name: cut_str(&peek_text(item, event.name), MAX_NAME_BYTES).to_owned(),
            nanos: item.nanos(event.ticks),
        });
    }

    fn end(&mut self, thread: ThreadKoids) {
        let Some(open) = self.threads.get_mut(&thread) else {
            return self.end_elsewhere();
        };
        if open.others > 0 {
            open.others -= 1;
        } else if open.scopes.pop().is_some() {
            self.remembered -= 1;
        }
        if open.scopes.is_empty() && open.others == 0 {
            self.threads.remove(&thread);
        }
    }

    fn end_elsewhere(&mut self) {
        match self.elsewhere.checked_sub(1) {
            Some(rest) => self.elsewhere = rest,
            None => self.ends_without_begin += 1,
        }
    }

    /// Returns the first of the open scopes by time, and how many there are.
    pub(super) fn open(&self) -> (Vec<OpenScope>, u64) {
        let others: u64 = self.threads.values().map(|open| open.others).sum();
        let mut scopes: Vec<&OpenScope> =
            self.threads.values().flat_map(|open| &open.scopes).collect();
        scopes.sort_by_key(|scope| (scope.nanos, scope.thread.process, scope.thread.thread));
        let reported = scopes.iter().take(MAX_REPORTED).copied().cloned().collect();
        (reported, scopes.len() as u64 + others + self.elsewhere)
    }
}
