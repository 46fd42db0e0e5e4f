//! Durations on tracks.

use trace_format::layout::{event, record, EventType};

use crate::thread::slot;
use crate::track::Track;
use crate::RECORDER;

use super::arguments::Arguments;
use super::names::Names;
use super::place::{Here, On, Place};
use super::site::{Key, Site};
use super::write;

/// A duration on a track that lasts until this is dropped, on any thread.
///
/// It is a record at its beginning and one at its end. If it is forgotten, the duration stays open in the trace.
#[derive(Debug)]
#[must_use = "the duration ends when this is dropped"]
pub struct TrackScope(Option<Begun>);

/// A duration whose beginning is recorded.
#[derive(Debug)]
struct Begun {
    site: &'static Site,
    track: Track,
    /// The recording that has the beginning: its end is of no interest to another one.
    recording: u64,
}

impl TrackScope {
    /// A duration that is not recorded.
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
    let place = On(track, Here);
    let Some((open, header)) = write::open_at(site, keys, place, &names, &arguments, 0) else {
        return TrackScope::NOT_RECORDED;
    };
    let begun = Begun { site, track, recording: RECORDER.recording() };
    write::stamp(&open, place);
    open.commit(header);
    TrackScope(Some(begun))
}

impl Drop for TrackScope {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(begun) = &self.0 {
            begun.end();
        }
    }
}

impl Begun {
    #[inline(never)]
    fn end(&self) {
        const WORDS: usize = 4;
        let place = On(self.track, Here);
        let Some(open) = slot().and_then(|slot| slot.open(&RECORDER, WORDS)) else { return };
        let header = self.site.header();
        if header == 0 || RECORDER.recording() != self.recording {
            open.abandon();
            return;
        }
        if let Some(koids) = open.words().get(2..) {
            place.encode(koids);
        }
        write::stamp(&open, place);
        let header = event::EventType::set(place.header(header), EventType::DurationEnd.bits());
        open.commit(header | record::Size::make(WORDS as u64));
    }
}
