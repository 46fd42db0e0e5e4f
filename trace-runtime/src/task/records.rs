//! The records of a task. All have the same site and different types. They are written only into
//! the task's recording.

use std::sync::atomic::Ordering;

use trace_format::layout::{event, EventType};
use trace_protocol::buffer::producer::{OpenScope, Reservation};
use trace_protocol::clock::ticks;

use super::strings::{self, State};
use crate::point::arguments::Arguments;
use crate::point::names::Names;
use crate::point::site::{Key, Site, Unscoped};
use crate::point::write;
use crate::RECORDER;

/// The fields that all records of a task have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskIdentity {
    pub(crate) site: &'static Site,
    pub(crate) id: u64,
    /// The recording of the task. Nothing is written into another one.
    pub(crate) recording: u64,
}

impl TaskIdentity {
    /// Writes an event with the task's id, at `now`. Returns whether it was written.
    #[inline(always)]
    pub(crate) fn event(
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

    /// Writes the beginning of poll number `count`, at `now` or else at the current time. Returns
    /// the scope and the time.
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

    /// Reserves a record with one word after its arguments.
    #[inline(always)]
    fn open(
        self,
        kind: EventType,
        names: &impl Names,
        keys: &'static [Key],
        arguments: &impl Arguments,
    ) -> Option<(Reservation<'static>, u64)> {
        let (open, header) = write::open(&Unscoped(self.site), keys, names, arguments, 1)?;
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
