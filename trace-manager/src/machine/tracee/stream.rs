//! The change of a circular buffer to streaming mode, for which nothing is interrupted.
//!
//! ```text
//!            session joins               memory (loop)              STREAMING (provider)
//!  Circular --------------> Reserving ------------------> Requested --------------------> Saving
//!                               | no memory (loop)                                           |
//!                               v                                    older rolling buffers   |
//!                            Refused: a session joins a new buffer   are saved (provider)    v
//!                                                                                        Checking
//!                                                                    their copies are        |
//!                                                                    checked (loop)          v
//!                                                                                       Streaming
//! ```
//!
//! If no session would join any more, Reserving and Refused end in Circular.
//!
//! The rolling buffers from before the change are not of the session that joins. So it joins when
//! the loop has checked their copies, and passed their records on. The loop checks a part of a copy
//! at a time, and a join must not have it check all of them at once.

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::{Features, ToProvider};

use super::{Actions, Tracee, TraceeAction, TraceeState};
use crate::machine::Violation;

/// The state of the change in one buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::machine) enum Stream {
    /// Not begun.
    #[default]
    No,
    /// The loop reserves memory for the records that its sessions retain from then on.
    Reserving,
    /// The provider has to reply.
    Requested,
    /// It streams. The rolling buffers before this wrapped count are to be saved.
    Saving(u32),
    /// It streams, and the rolling buffers from before are saved. The loop has to check the copies.
    Checking,
    /// It streams, and the records from before are passed on.
    Streaming,
    /// There is no memory.
    Refused,
}

impl Tracee {
    /// Returns the state of the change to streaming mode.
    pub(in crate::machine) fn stream(&self) -> Stream {
        self.stream
    }

    /// Returns whether the sessions of its circular buffer can change after a change to streaming
    /// mode, which may have begun.
    pub(in crate::machine) fn can_stream(&self) -> bool {
        let is_changing = match self.stream {
            Stream::No | Stream::Reserving | Stream::Requested => {
                self.mode() == BufferingMode::Circular
            }
            Stream::Saving(_) | Stream::Checking => true,
            Stream::Streaming | Stream::Refused => false,
        };
        is_changing && self.features.contains(Features::SET_CATEGORIES.with(Features::STREAM))
    }

    /// Returns whether the loop has to report if there is memory for it.
    pub(crate) fn awaits_stream_memory(&self) -> bool {
        self.stream == Stream::Reserving
    }

    /// Returns whether the rolling buffers from before the change are not all saved and checked.
    pub(crate) fn has_older_buffers(&self) -> bool {
        matches!(self.stream, Stream::Saving(_) | Stream::Checking)
    }

    /// Returns whether the loop has to report that the copies are checked.
    pub(crate) fn awaits_check(&self) -> bool {
        self.stream == Stream::Checking
    }

    fn may_begin(&self) -> bool {
        matches!(self.state, TraceeState::Starting { .. } | TraceeState::Started)
    }

    /// Begins the change. The loop reserves memory for it.
    pub(super) fn begin_stream(&mut self) -> Actions {
        if self.may_begin() && self.can_stream() && self.stream == Stream::No {
            self.stream = Stream::Reserving;
        }
        Vec::new()
    }

    /// Returns whether a change that has begun can be given up: the provider does not know of it.
    pub(in crate::machine) fn can_keep_mode(&self) -> bool {
        matches!(self.stream, Stream::Reserving | Stream::Refused)
    }

    /// Gives the change up. It can begin again, for another session.
    pub(super) fn keep_mode(&mut self) -> Actions {
        if self.can_keep_mode() {
            self.stream = Stream::No;
        }
        Vec::new()
    }

    pub(super) fn stream_reserved(&mut self, has_memory: bool) -> Actions {
        if self.stream != Stream::Reserving {
            return Vec::new();
        }
        if !has_memory || !self.may_begin() {
            self.stream = Stream::Refused;
            return Vec::new();
        }
        self.stream = Stream::Requested;
        vec![TraceeAction::Send(ToProvider::Stream)]
    }

    /// Handles the reply. It may be late: then the provider stops, and its rolling buffers are
    /// saved all the same.
    pub(super) fn streaming(&mut self, first: u32, current: u32) -> Actions {
        let is_requested = self.stream == Stream::Requested;
        if !is_requested || !self.start_acknowledged || self.stop_acknowledged {
            return self.cut_off(Violation::Unexpected("STREAMING"));
        }
        let are_own = current.checked_sub(first).is_some_and(|older| older < self.rolling_buffers);
        if !are_own {
            return self.cut_off(Violation::RollingBuffers { first, current });
        }
        self.initialize.mode = BufferingMode::Streaming;
        self.saves.skip_to(first);
        self.stream = match first == current {
            true => Stream::Streaming,
            false => Stream::Saving(current),
        };
        vec![TraceeAction::Streams { first, current }]
    }

    /// Notes that a rolling buffer is saved.
    pub(super) fn note_saved(&mut self) {
        if self.stream == Stream::Saving(self.saves.next()) {
            self.stream = Stream::Checking;
        }
    }

    /// Notes that the copies of the rolling buffers from before the change are checked.
    pub(super) fn note_checked(&mut self) -> Actions {
        if self.awaits_check() {
            self.stream = Stream::Streaming;
        }
        Vec::new()
    }
}
