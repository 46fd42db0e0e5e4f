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

use std::fmt;

use trace_format::layout::EventType;

use super::arguments::{Beginning, Stored, TraceFutureArgs, Values};
use super::current::{self, Current};
use super::poll::Running;
use super::records::Of;
use super::strings::{self, State};
use crate::nonce::nonce;
use crate::point::arguments::Arguments;
use crate::point::names::{Literal, Names};
use crate::point::site::{Key, Site};
use crate::RECORDER;
use trace_protocol::clock::ticks;

/// A future that is traced, but for the future.
///
/// Dropped before it is over, it is recorded as cancelled.
pub struct Task<V: Stored = Values<Literal, ()>> {
    pub(super) life: Life,
    pub(super) values: V,
}

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

/// Begins a task at once. The site's category is on.
#[inline(always)]
pub fn begin<A: Arguments>(site: &'static Site, keys: &'static [Key], arguments: A) -> Task {
    let mut task = Task::unbegun(site);
    task.life.begin(&Literal, keys, Some(arguments));
    task
}

impl Task {
    /// A task that begins with its first poll, and without arguments.
    #[inline(always)]
    pub fn unbegun(site: &'static Site) -> Self {
        Self { life: Life::new(site), values: Values::NONE }
    }
}

impl<V: Stored> Task<V> {
    /// A task that begins with its first poll.
    #[inline(always)]
    pub(super) fn new(TraceFutureArgs { site, values }: TraceFutureArgs<V>) -> Self {
        Self { life: Life::new(site), values }
    }

    /// Whether it may be that something is to be recorded.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.life.of.site.is_on()
    }

    /// Begins a poll, and the task if need be. `None` where neither is recorded.
    #[inline(always)]
    pub(super) fn enter(&mut self) -> Option<Running<'_, V::Names<'_>>> {
        let Self { life, values } = self;
        let names = values.names()?;
        let begun = match life.is_begun() {
            true => None,
            false => Some(life.begin(&names, life.of.site.keys(), values.arguments())?),
        };
        Some(Running::begin(life, names, begun))
    }
}

impl<V: Stored> Drop for Task<V> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_on() && self.life.phase == Phase::Begun {
            self.cancel();
        }
    }
}

impl<V: Stored> Task<V> {
    #[cold]
    #[inline(never)]
    fn cancel(&mut self) {
        if let Some(names) = self.values.names() {
            self.life.end(&names, State::Cancelled, ticks());
        }
    }
}

impl<V: Stored> fmt::Debug for Task<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("life", &self.life).finish_non_exhaustive()
    }
}

impl Life {
    #[inline(always)]
    fn new(site: &'static Site) -> Self {
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
    fn is_begun(&self) -> bool {
        self.phase == Phase::Begun && self.of.recording == RECORDER.recording()
    }

    /// Begins the task in the recording under way, if it is to be there. Returns the time.
    #[inline(never)]
    fn begin(
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
