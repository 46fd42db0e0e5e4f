//! The life of a task, from its first poll to its end.
//!
//! ```text
//!            first recorded poll              ready, panicked
//!  created ─────────────────────────► begun ───────────────────► ended
//!                                     ▲   │ next recording:
//!                                     └───┘ begun again at the next poll
//! ```
//!
//! If a task is dropped after it has begun, and its recording is still running, it ends as
//! cancelled.

use trace_format::layout::EventType;
use trace_protocol::clock::ticks;

use super::arguments::BeginArguments;
use super::bridged::current_task;
use super::current::Current;
use super::records::TaskIdentity;
use super::strings::{self, State};
use crate::point::arguments::Arguments;
use crate::point::names::Names;
use crate::point::site::{Key, Site};
use crate::point::write;
use crate::recorder::nonce;
use crate::RECORDER;

/// The progress of a task.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) identity: TaskIdentity,
    /// The task whose poll created this one.
    creator: Current,
    /// The time of the begin in this recording, in ticks.
    start: u64,
    /// The number of polls in this recording.
    pub(super) polls: u32,
    phase: Phase,
    /// Whether the flow has begun.
    pub(super) flows: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Created,
    /// In the recording of [`Life::identity`].
    Begun,
    Ended,
}

impl Life {
    #[inline(always)]
    pub(super) fn new(site: &'static Site) -> Self {
        let creator = if site.is_on() { current_task() } else { Current::NONE };
        Self {
            identity: TaskIdentity { site, id: 0, recording: 0 },
            creator,
            start: 0,
            polls: 0,
            phase: Phase::Created,
            flows: false,
        }
    }

    /// Returns whether the task has begun in the current recording.
    #[inline(always)]
    pub(super) fn is_begun(&self) -> bool {
        self.phase == Phase::Begun && self.identity.recording == RECORDER.recording()
    }

    /// Returns whether the task has begun in any recording, and has not ended.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Begun
    }

    /// Begins the task in the current recording. Returns the time, or `None` if the task is not
    /// recorded.
    #[inline(never)]
    pub(super) fn begin(
        &mut self,
        names: &impl Names,
        keys: &'static [Key],
        arguments: Option<impl Arguments>,
    ) -> Option<u64> {
        if self.phase == Phase::Ended || !names.is_on() || !strings::are_registered() {
            return None;
        }
        let recording = RECORDER.recording();
        let identity = TaskIdentity { site: self.identity.site, id: nonce(), recording };
        let creator = self.creator.in_recording(recording);
        let parent = creator.or_else(|| current_task().in_recording(recording));
        let now = ticks();
        if !identity.event(
            EventType::AsyncBegin,
            names,
            keys,
            &BeginArguments { arguments, parent },
            now,
        ) {
            return None;
        }
        let (creator, phase) = (self.creator, Phase::Begun);
        *self = Self { identity, creator, start: now, polls: 0, phase, flows: false };
        Some(now)
    }

    /// Ends the task, with its final state, and compares its duration.
    #[inline(always)]
    pub(super) fn end(&mut self, names: &impl Names, state: State, now: u64) {
        self.phase = Phase::Ended;
        let _in_recording = self.identity.event(
            EventType::AsyncEnd,
            names,
            strings::state_keys(),
            &(state, ()),
            now,
        );
        let TaskIdentity { site, recording, .. } = self.identity;
        write::compare_operation(site, recording, self.start, || now);
    }
}
