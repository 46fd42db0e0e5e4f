//! Scopes that may begin and end on different threads: durations on tracks, and asynchronous
//! operations.

use std::sync::atomic::Ordering;

use trace_format::layout::{event, record, EventType};

use crate::thread::slot;
use crate::track::Track;
use crate::RECORDER;

use super::arguments::Arguments;
use super::names::{Literal, Names};
use super::place::{Here, On, Place};
use super::site::{Key, Site, Switch, Unscoped};
use super::write;

/// A duration on a track, until the guard is dropped on any thread.
///
/// Writes one record at the beginning and one at the end. If the guard is leaked, the duration has
/// no end in the trace.
#[derive(Debug)]
#[must_use = "the duration ends when this is dropped"]
pub struct TrackScope(Option<(Begun, Track)>);

/// An asynchronous operation, until the guard is dropped on any thread. See
/// [`trace_async_enter!`](crate::trace_async_enter).
///
/// If the guard is leaked, the operation has no end in the trace.
#[derive(Debug)]
#[must_use = "the operation ends when this is dropped"]
pub struct AsyncScope(Option<(Begun, u64)>);

/// A beginning that was recorded.
#[derive(Debug)]
struct Begun {
    site: &'static Site,
    /// The recording of the beginning: the end is written only into the same one.
    recording: u64,
    /// The time of the beginning, in ticks.
    start: u64,
}

impl TrackScope {
    /// A duration that is not recorded.
    pub const NOT_RECORDED: Self = Self(None);
}

impl AsyncScope {
    /// An operation that is not recorded.
    pub const NOT_RECORDED: Self = Self(None);
}

/// Writes the beginning of a duration on a track.
#[inline(never)]
pub fn begin_on<N: Names, A: Arguments>(
    site: &'static Site,
    keys: &'static [Key],
    track: Track,
    names: N,
    arguments: A,
) -> TrackScope {
    TrackScope(begin(site, keys, On(track, Here), names, arguments, []).map(|begun| (begun, track)))
}

/// Writes the beginning of an asynchronous operation.
#[inline(never)]
pub fn enter<A: Arguments>(
    site: &'static Site,
    keys: &'static [Key],
    arguments: A,
    id: u64,
) -> AsyncScope {
    AsyncScope(begin(site, keys, Here, Literal, arguments, [id]).map(|begun| (begun, id)))
}

#[inline(always)]
fn begin<N: Names, A: Arguments, const TAIL: usize>(
    site: &'static Site,
    keys: &'static [Key],
    place: impl Place,
    names: N,
    arguments: A,
    tail: [u64; TAIL],
) -> Option<Begun> {
    let site_of_operation = Unscoped(site);
    let opened = write::open_at(&site_of_operation, keys, place, &names, &arguments, TAIL, |_| {});
    let (open, header) = opened?;
    let recording = RECORDER.recording();
    for (word, value) in open.words().iter().rev().zip(tail) {
        word.store(value, Ordering::Relaxed);
    }
    let start = write::stamp(&open, place);
    open.commit(header);
    Some(Begun { site, recording, start })
}

impl Drop for TrackScope {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((begun, track)) = &self.0 {
            begun.end_on(*track);
        }
    }
}

impl Drop for AsyncScope {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((begun, id)) = &self.0 {
            begun.leave(*id);
        }
    }
}

impl Begun {
    #[inline(never)]
    fn end_on(&self, track: Track) {
        self.end(EventType::DurationEnd, On(track, Here), []);
    }

    #[inline(never)]
    fn leave(&self, id: u64) {
        self.end(EventType::AsyncEnd, Here, [id]);
    }

    /// Writes an end, and compares the duration.
    fn end<P: Place, const TAIL: usize>(&self, event_type: EventType, place: P, tail: [u64; TAIL]) {
        let end = self.write_end(event_type, place, tail);
        let end = || end.unwrap_or_else(|| place.ticks());
        write::compare_operation(self.site, self.recording, self.start, end);
    }

    /// Writes an end without arguments, with the names of the string table. Returns its time.
    fn write_end<P: Place, const TAIL: usize>(
        &self,
        event_type: EventType,
        place: P,
        tail: [u64; TAIL],
    ) -> Option<u64> {
        let words = 2 + P::WORDS + TAIL;
        let open = slot()?.open(&RECORDER, words)?;
        let header = Unscoped(self.site).header();
        if header == 0 || RECORDER.recording() != self.recording {
            open.abandon();
            return None;
        }
        if let Some((koids, last)) =
            open.words().get(2..).and_then(|rest| rest.split_at_checked(P::WORDS))
        {
            place.encode(koids);
            for (word, value) in last.iter().zip(tail) {
                word.store(value, Ordering::Relaxed);
            }
        }
        let end = write::stamp(&open, place);
        let header = event::EventType::set(place.header(header), event_type.bits());
        open.commit(header | record::Size::make(words as u64));
        Some(end)
    }
}
