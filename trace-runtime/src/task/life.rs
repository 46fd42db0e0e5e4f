//! The life of a task, from its first poll to its end.
//!
//! ```text
//!         first poll that is recorded           ready, panicked
//!  made ─────────────────────────────► begun ───────────────────► over
//!                                      ▲   │ another recording:
//!                                      └───┘ begun anew, at the next poll
//! ```
//!
//! What is begun and not over ends when the task is dropped, if its recording is still under way.

use trace_format::layout::EventType;
use trace_protocol::clock::ticks;

use super::arguments::Beginning;
use super::current::{self, Current};
use super::records::Of;
use super::strings::{self, State};
use crate::point::arguments::Arguments;
use crate::point::names::Names;
use crate::point::site::{Key, Site};
use crate::recorder::nonce;
use crate::RECORDER;

/// How far a task has come.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) of: Of,
    /// The task in whose poll this one was made.
    maker: Current,
    /// Polls in this recording.
    pub(super) polls: u32,
    phase: Phase,
    /// The flow is begun.
    pub(super) flows: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Made,
    /// In the recording that [`Life::of`] names.
    Begun,
    Over,
}

impl Life {
    #[inline(always)]
    pub(super) fn new(site: &'static Site) -> Self {
        let maker = if site.is_on() { current::get() } else { Current::NONE };
        Self {
            of: Of { site, id: 0, recording: 0 },
            maker,
            polls: 0,
            phase: Phase::Made,
            flows: false,
        }
    }

    /// Whether the task is begun in the recording under way.
    #[inline(always)]
    pub(super) fn is_begun(&self) -> bool {
        self.phase == Phase::Begun && self.of.recording == RECORDER.recording()
    }

    /// Whether the task is begun in any recording, and not over.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Begun
    }

    /// Begins the task in the recording under way, if it is to be there. Returns the time.
    #[inline(never)]
    pub(super) fn begin(
        &mut self,
        names: &impl Names,
        keys: &'static [Key],
        arguments: Option<impl Arguments>,
    ) -> Option<u64> {
        if self.phase == Phase::Over || !names.is_on() || !strings::are_registered() {
            return None;
        }
        let recording = RECORDER.recording();
        let of = Of { site: self.of.site, id: nonce(), recording };
        let parent =
            self.maker.in_recording(recording).or_else(|| current::get().in_recording(recording));
        let now = ticks();
        if !of.event(EventType::AsyncBegin, names, keys, &Beginning { arguments, parent }, now) {
            return None;
        }
        *self = Self { of, maker: self.maker, polls: 0, phase: Phase::Begun, flows: false };
        Some(now)
    }

    /// Says how the task has ended.
    #[inline(always)]
    pub(super) fn end(&mut self, names: &impl Names, state: State, now: u64) {
        self.phase = Phase::Over;
        let _in_recording =
            self.of.event(EventType::AsyncEnd, names, strings::state_keys(), &(state, ()), now);
    }
}
