//! **The hot path of a trace point that is on**: take the thread's slot, reserve, read the clock, store, commit.
//!
//! It is compiled once for each list of argument types and called: a call costs nothing beside the clock, while code at each trace point
//! costs the caches of the program and the time of the compiler.

use std::sync::atomic::Ordering;

use trace_format::layout::{event, record, MAX_RECORD_WORDS};
use trace_protocol::buffer::producer::{OpenScope, Record};

use crate::clock::ticks;
use crate::thread::slot;
use crate::value::Limit;
use crate::RECORDER;

use super::arguments::Arguments;
use super::names::{Literal, Names};
use super::site::{Key, Site, Switch};

/// Words of an event before its names: header and timestamp.
const FIXED: usize = 2;

/// Writes an event with a trailing word (`TAIL` is 1: an id, a scope) or without one (0).
#[inline(never)]
pub fn event<N: Names, A: Arguments, const TAIL: usize>(
    site: &impl Switch,
    keys: &'static [Key],
    names: N,
    arguments: A,
    tail: [u64; TAIL],
) {
    if let Some((open, header)) = open(site, keys, &names, &arguments, TAIL) {
        for (word, value) in open.words().iter().rev().zip(tail) {
            word.store(value, Ordering::Relaxed);
        }
        stamp(&open);
        open.commit(header);
    }
}

/// Writes the beginning of a scope.
#[inline(never)]
pub fn begin<N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    names: N,
    arguments: A,
) -> DurationScope {
    match open(site, keys, &names, &arguments, 1) {
        Some((open, header)) => {
            let start = stamp(&open);
            DurationScope(OpenScope::begin(open, header, start))
        }
        None => DurationScope::NOT_RECORDED,
    }
}

/// Writes the beginning of a scope that has literals for names and no arguments: [`begin`] compiled once, for all programs.
#[inline(never)]
pub fn begin_plain(site: &'static Site) -> DurationScope {
    begin(site, &[], Literal, ())
}

/// A duration that lasts until this is dropped.
///
/// It belongs to the thread that began it, and so must not be held across an `.await`: it is not [`Send`].
///
/// ```compile_fail
/// fn send<T: Send>() {}
/// send::<trace_runtime::DurationScope>();
/// ```
///
/// If it is forgotten, the duration stays open in the trace.
#[derive(Debug)]
#[must_use = "the duration ends when this is dropped"]
pub struct DurationScope(OpenScope);

impl DurationScope {
    /// A duration that is not recorded.
    pub const NOT_RECORDED: Self = Self(OpenScope::NOT_RECORDED);
}

impl Drop for DurationScope {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.is_recorded() {
            end(&self.0);
        }
    }
}

#[inline(never)]
fn end(scope: &OpenScope) {
    if let Some(slot) = slot() {
        scope.end(slot, &RECORDER, ticks);
    }
}

/// Reserves the record and stores names and arguments. What is left is the timestamp, the tail, and the commit with the header.
#[inline(always)]
pub(crate) fn open<N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    names: &N,
    arguments: &A,
    tail: usize,
) -> Option<(Record<'static>, u64)> {
    let slot = slot()?;
    let size = |limit| FIXED + names.words(limit) + arguments.words(limit) + tail;
    let mut limit = Limit::LONG;
    let mut words = size(limit);
    if words > MAX_RECORD_WORDS {
        limit = Limit::SHORT;
        words = size(limit);
    }
    let open = slot.open(&RECORDER, words)?;
    // Read again: the first look was before the slot was busy, and may have been of an earlier session.
    let header = site.header();
    if header == 0 {
        open.abandon();
        return None;
    }
    if let Some((head, rest)) = open.words().get(FIXED..).and_then(|rest| rest.split_at_checked(names.words(limit))) {
        names.encode(head, limit);
        arguments.encode(keys, rest, limit);
    }
    let size = record::Size::make(words as u64) | event::ArgumentCount::make(arguments.count() as u64);
    Some((open, header | names.header(limit) | size))
}

#[inline(always)]
fn stamp(open: &Record<'_>) -> u64 {
    let now = ticks();
    if let Some(word) = open.words().get(1) {
        word.store(now, Ordering::Relaxed);
    }
    now
}
