//! **The hot path of a trace point that is on**: get the thread's slot, reserve, store, read the
//! clock, commit.
//!
//! It is compiled once for each list of argument types, and called. The call costs little beside
//! the clock read, while inlined code at each trace point would cost instruction cache and compile
//! time.

use std::ops::Range;
use std::sync::atomic::Ordering;

use trace_format::layout::{event, record, MAX_RECORD_WORDS};
use trace_protocol::buffer::function::{FunctionWord, TAIL_EXIT};
use trace_protocol::buffer::producer::{OpenScope, Reservation, Slot, WatchedDuration};
use trace_protocol::clock::{counter_ticks, is_counter, ticks};

use crate::thread::{attached, slot};
use crate::timestamp::Timestamp;
use crate::value::Limit;
use crate::{ENGINE, RECORDER};

use super::announce;
use super::arguments::Arguments;
use super::names::{Literal, Names};
use super::place::{At, Here, Place};
use super::site::{Key, Site, Switch, Unscoped, WATCHED};

/// The words of an event before its names: header and timestamp.
const FIXED: usize = 2;

/// The words of a scope without arguments.
const PLAIN: usize = FIXED + 1;

/// Writes an event of this thread at the current time. `TAIL` is the number of trailing words: 1
/// for an id or a scope, else 0.
#[inline(always)]
pub(crate) fn event<N: Names, A: Arguments, const TAIL: usize>(
    site: &impl Switch,
    keys: &'static [Key],
    names: N,
    arguments: A,
    tail: [u64; TAIL],
) {
    event_at(site, keys, Here, names, arguments, tail);
}

/// Writes an event like [`event`], but at `place`.
#[inline(never)]
pub fn event_at<P: Place, N: Names, A: Arguments, const TAIL: usize>(
    site: &impl Switch,
    keys: &'static [Key],
    place: P,
    names: N,
    arguments: A,
    tail: [u64; TAIL],
) {
    let opened = open_at(site, keys, place, &names, &arguments, TAIL, |_| {});
    if let Some((open, header)) = opened {
        for (word, value) in open.words().iter().rev().zip(tail) {
            word.store(value, Ordering::Relaxed);
        }
        stamp(&open, place);
        open.commit(header);
    }
}

/// Writes a duration with known start and end. `place` converts the start to the place of the
/// event.
#[inline(always)]
pub fn complete<T: Into<Timestamp>, P: Place, N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    time: Range<T>,
    place: impl FnOnce(At) -> P,
    names: N,
    arguments: A,
) {
    let (start, end) = (time.start.into(), time.end.into());
    event_at(site, keys, place(At(start)), names, arguments, [end.ticks()]);
}

/// Begins a scope: writes its record, with space for the end's timestamp.
#[inline(never)]
pub fn begin<N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    names: N,
    arguments: A,
) -> DurationScope {
    begin_inline(site, keys, names, arguments)
}

/// Inlined form of [`begin`], for callers that store the scope through a pointer and would
/// otherwise copy it.
#[inline(always)]
pub(crate) fn begin_inline<N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    names: N,
    arguments: A,
) -> DurationScope {
    match open_at(site, keys, Here, &names, &arguments, 1, announce_begin) {
        Some((open, header)) => {
            let start = stamp(&open, Here);
            DurationScope(OpenScope::begin(open, header, start))
        }
        None => DurationScope::NOT_RECORDED,
    }
}

/// Begins the duration of a poll. It has the names of its operation, whose conditions must not find
/// it: the thread's slot may be marked by a watched scope around it.
#[inline(never)]
pub(crate) fn begin_poll<A: Arguments>(
    site: &'static Site,
    keys: &'static [Key],
    arguments: A,
) -> DurationScope {
    match open(&Unscoped(site), keys, &Literal, &arguments, 1) {
        Some((open, header)) => {
            open.unwatch();
            let start = stamp(&open, Here);
            DurationScope(OpenScope::begin(open, header, start))
        }
        None => DurationScope::NOT_RECORDED,
    }
}

/// Begins a scope with literal names and without arguments: [`begin`], compiled once in this crate.
#[inline(never)]
pub fn begin_plain(site: &'static Site) -> DurationScope {
    match attached().and_then(|slot| begin_direct(slot, site)) {
        Some(scope) => scope,
        None => begin_late(site),
    }
}

/// Begins a scope like [`begin_plain`], of a caller that has the thread's slot.
#[inline(always)]
pub(crate) fn begin_by(slot: &'static Slot, site: &impl Switch) -> DurationScope {
    match begin_direct(slot, site) {
        Some(scope) => scope,
        None => begin_late(site),
    }
}

/// Begins a scope in the chunk that the thread has. `None` if that takes a longer path.
///
/// All longer paths are one call at the end, so this one saves no registers.
#[inline(always)]
fn begin_direct(slot: &'static Slot, site: &impl Switch) -> Option<DurationScope> {
    let open = slot.open_direct(&RECORDER, PLAIN)?;
    // Loaded again, as in `open_at`.
    let mut header = site.header();
    // One branch for the three rare cases: the marks of sites are the sign.
    if header as i64 <= 0 {
        if let Some(function) = FunctionWord::of_site(header) {
            return OpenScope::enter_direct(open, function, counter_ticks).map(DurationScope);
        }
        if header == 0 {
            open.abandon();
            return None;
        }
        if ENGINE.has_announced() {
            open.abandon();
            return None;
        }
        header &= !WATCHED;
        open.watch();
    }
    let Some(start) = direct_ticks() else {
        open.abandon();
        return None;
    };
    stamp(&open, At(Timestamp::from_ticks(start)));
    let header = header | record::Size::make(PLAIN as u64);
    Some(DurationScope(OpenScope::begin(open, header, start)))
}

/// Begins a scope without arguments, whatever that takes.
#[cold]
#[inline(never)]
fn begin_late(site: &impl Switch) -> DurationScope {
    let Some(open) = slot().and_then(|slot| slot.open(&RECORDER, PLAIN)) else {
        return DurationScope::NOT_RECORDED;
    };
    // Loaded again, as in `open_at`.
    let mut header = site.header();
    if header == 0 {
        open.abandon();
        return DurationScope::NOT_RECORDED;
    }
    if let Some(function) = FunctionWord::of_site(header) {
        return DurationScope(OpenScope::enter(open, function, ticks));
    }
    if header & WATCHED != 0 {
        header &= !WATCHED;
        open.watch();
        announce_begin(header);
    }
    let start = stamp(&open, Here);
    DurationScope(OpenScope::begin(open, header | record::Size::make(PLAIN as u64), start))
}

/// Returns the current time if that is one read of the CPU's counter.
#[inline(always)]
fn direct_ticks() -> Option<u64> {
    is_counter().then(counter_ticks)
}

/// A duration, until the guard is dropped.
///
/// It belongs to the thread that began it, and is not [`Send`]: do not hold it across an `.await`.
/// For async code, see [`task`](crate::task).
///
/// ```compile_fail
/// fn send<T: Send>() {}
/// send::<trace_runtime::DurationScope>();
/// ```
///
/// If the guard is leaked, the duration has no end in the trace.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "the duration ends when this is dropped"]
pub struct DurationScope(OpenScope);

impl DurationScope {
    /// A duration that is not recorded.
    pub const NOT_RECORDED: Self = Self(OpenScope::NOT_RECORDED);

    /// Returns the time of its begin, or `None` if it is not recorded.
    #[must_use]
    pub fn start(&self) -> Option<Timestamp> {
        self.0.start().map(Timestamp::from_ticks)
    }

    /// Ends it like [`end_by`](Self::end_by): the function jumps to another one. Only a function
    /// record in the current epoch has that.
    #[inline(always)]
    pub(crate) fn end_by_jump(&self, slot: &Slot) {
        let clock = || counter_ticks() | TAIL_EXIT;
        if self.0.is_recorded() && !self.0.end_direct(slot, &RECORDER, direct_ticks, clock) {
            end_late(&self.0);
        }
    }

    /// Ends it. `slot` is the calling thread's.
    #[inline(always)]
    pub(crate) fn end_by(&self, slot: &Slot) {
        if self.0.is_recorded() && !end_direct(&self.0, slot) {
            end_late(&self.0);
        }
    }
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
    if !attached().is_some_and(|slot| end_direct(scope, slot)) {
        end_late(scope);
    }
}

/// Ends a scope in the current rolling buffer. `false` if that takes a longer path.
#[inline(always)]
fn end_direct(scope: &OpenScope, slot: &Slot) -> bool {
    scope.end_direct(slot, &RECORDER, direct_ticks, counter_ticks)
}

/// Ends a scope, whatever that takes.
#[cold]
#[inline(never)]
fn end_late(scope: &OpenScope) {
    if let Some(slot) = slot() {
        scope.end_late(slot, &RECORDER, ticks(), compare_scope);
    }
}

/// Announces the begin of a scope of a watched site, if the session has armed the site. Called
/// while the thread's slot is busy.
#[cold]
#[inline(never)]
fn announce_begin(header: u64) {
    if ENGINE.announces(WatchedDuration::names_of(header)) {
        announce::scope_begins();
    }
}

/// Compares the duration of a scope of a watched site with the conditions of the session, and
/// announces its end.
fn compare_scope(duration: WatchedDuration<'_>) {
    compare(duration);
    if ENGINE.announces(duration.names) && duration.is_current() {
        announce::scope_ends();
    }
}

/// Compares a duration of a watched site with the conditions of the session.
fn compare(duration: WatchedDuration<'_>) {
    ENGINE.compare(duration);
}

/// Compares the duration of an operation that began at `start` in `recording`, if its site is
/// watched. Call it after the end was written: also if the end was dropped.
#[inline(always)]
pub(crate) fn compare_operation(
    site: &Site,
    recording: u64,
    start: u64,
    end: impl FnOnce() -> u64,
) {
    let header = site.header();
    if header & WATCHED != 0 {
        compare_watched(header & !WATCHED, recording, end().saturating_sub(start));
    }
}

#[cold]
#[inline(never)]
fn compare_watched(header: u64, recording: u64, ticks: u64) {
    compare(WatchedDuration::of_operation(header, ticks, &RECORDER, recording));
}

/// Reserves the record of an event on this thread, and stores names and arguments. The caller
/// stores the timestamp and the trailing words, and commits with the returned header.
#[inline(always)]
pub(crate) fn open<N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    names: &N,
    arguments: &A,
    tail: usize,
) -> Option<(Reservation<'static>, u64)> {
    open_at(site, keys, Here, names, arguments, tail, |_| {})
}

/// Reserves a record like [`open`], but at `place`. Calls `watched` with the header of a watched
/// site. Only a scope whose end can be announced announces its begin.
#[inline(always)]
pub(super) fn open_at<P: Place, N: Names, A: Arguments>(
    site: &impl Switch,
    keys: &'static [Key],
    place: P,
    names: &N,
    arguments: &A,
    tail: usize,
    watched: impl FnOnce(u64),
) -> Option<(Reservation<'static>, u64)> {
    let slot = slot()?;
    let size = |limit| FIXED + P::WORDS + names.words(limit) + arguments.words(limit) + tail;
    let mut limit = Limit::LONG;
    let mut words = size(limit);
    if words > MAX_RECORD_WORDS {
        limit = Limit::SHORT;
        words = size(limit);
    }
    let open = slot.open(&RECORDER, words)?;
    // Loaded again: the first load was before the slot was busy, and its value may be that of an
    // earlier session.
    let mut header = site.header();
    // One branch for the two rare cases: the bit of a watched site is the sign.
    if header as i64 <= 0 {
        if header == 0 {
            open.abandon();
            return None;
        }
        header &= !WATCHED;
        open.watch();
        watched(header);
    }
    if let Some(koids) = open.words().get(FIXED..FIXED + P::WORDS) {
        place.encode(koids);
    }
    let rest = open.words().get(FIXED + P::WORDS..);
    if let Some((head, rest)) = rest.and_then(|rest| rest.split_at_checked(names.words(limit))) {
        names.encode(head, limit);
        arguments.encode(keys, rest, limit);
    }
    let size =
        record::Size::make(words as u64) | event::ArgumentCount::make(arguments.count() as u64);
    Some((open, place.header(header) | names.header(limit) | size))
}

/// Stores the timestamp and returns it.
#[inline(always)]
pub(super) fn stamp(open: &Reservation<'_>, place: impl Place) -> u64 {
    let ticks = place.ticks();
    if let Some(word) = open.words().get(1) {
        word.store(ticks, Ordering::Relaxed);
    }
    ticks
}
