//! The records of a task: all from one site, each with a type of its own, and each in one recording
//! or not at all.

use std::sync::atomic::Ordering;

use trace_format::layout::{event, EventType};
use trace_protocol::buffer::producer::{OpenScope, Reservation};
use trace_protocol::clock::ticks;

use super::strings::{self, State};
use crate::point::arguments::Arguments;
use crate::point::names::Names;
use crate::point::site::{Key, Site};
use crate::point::write;
use crate::RECORDER;

/// What the records of a task have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of {
    pub(super) site: &'static Site,
    pub(super) id: u64,
    /// The recording that the records belong to: in another one they are not written.
    pub(super) recording: u64,
}

impl Of {
    /// Writes an event with the task's id, at `now`. Returns whether it was written.
    #[inline(always)]
    pub(super) fn event(
        self,
        kind: EventType,
        names: &impl Names,
        keys: &'static [Key],
        arguments: &impl Arguments,
        now: u64,
    ) -> bool {
        let Some((open, header)) = self.open(kind, names, keys, arguments) else { return false };
        put(open.words().last(), self.id);
        put(open.words().get(1), now);
        open.commit(header);
        true
    }

    /// Writes the beginning of poll number `count`: at `now`, or now. Returns it with its time.
    #[inline(always)]
    pub(super) fn poll(self, names: &impl Names, count: u32, now: Option<u64>) -> (OpenScope, u64) {
        let arguments = (self.id, (count, (State::Running, ())));
        let keys = strings::poll_keys();
        match self.open(EventType::DurationBegin, names, keys, &arguments) {
            Some((open, header)) => {
                let start = now.unwrap_or_else(ticks);
                put(open.words().get(1), start);
                (OpenScope::begin(open, header, start), start)
            }
            None => (OpenScope::NOT_RECORDED, 0),
        }
    }

    /// A record with one word behind its arguments.
    #[inline(always)]
    fn open(
        self,
        kind: EventType,
        names: &impl Names,
        keys: &'static [Key],
        arguments: &impl Arguments,
    ) -> Option<(Reservation<'static>, u64)> {
        let (open, header) = write::open(self.site, keys, names, arguments, 1)?;
        if RECORDER.recording() != self.recording {
            open.abandon();
            return None;
        }
        Some((open, event::EventType::set(header, kind.bits())))
    }
}

#[inline(always)]
fn put(word: Option<&std::sync::atomic::AtomicU64>, value: u64) {
    if let Some(word) = word {
        word.store(value, Ordering::Relaxed);
    }
}
