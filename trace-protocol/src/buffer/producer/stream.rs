//! From circular to streaming mode, while threads record.
//!
//! ```text
//!  epoch    F          …         K - 1          K
//!      +---------+---------+---------+--------------------+
//!      |  full, not overwritten      | current            |   K + 1 overwrites F once F is saved
//!      +---------+---------+---------+--------------------+
//! ```
//!
//! The rolling buffers that the circular buffer has kept become full ones that are not saved. No
//! record is copied and no thread waits. Three stores do it, in this order:
//!
//! 1. The mode, with which `ready` is taken back. A thread that is about to switch may still do it,
//!    so the service thread waits until all threads were outside. If one stays in a trace point,
//!    both are as before, and the caller tries again: the others go on with the circular recording.
//! 2. The first epoch that is saved,
//! 3. and then `ready`, from where on threads may overwrite what is saved.
//!
//! In between no rolling buffer is overwritten: if the process is killed, the buffer is that of a
//! circular recording.

use std::time::Duration;

use crate::buffer::header::BufferingMode;
use crate::sync::Ordering;

use super::recorder::{is_recording, Recorder};

/// The least number of rolling buffers of which one is given up, so that threads need not wait for
/// the manager.
const SPARE_OF: u64 = 4;

/// The rolling buffers of a recording that has begun to stream, by wrapped counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streamed {
    /// The oldest one, which is to be saved first.
    pub first: u32,
    /// The current one.
    pub current: u32,
}

impl Recorder {
    /// Changes a circular recording to streaming mode, `patience` after the call at most. Service
    /// thread only.
    ///
    /// Returns `None` if nothing is recorded in circular mode, or if a thread is in the middle of a
    /// trace point. Nothing has changed then, and the caller may try again.
    pub fn stream(&self, patience: Duration) -> Option<Streamed> {
        let session = self.session(self.epoch.load(Ordering::Acquire))?;
        if self.mode() != Some(BufferingMode::Circular) {
            return None;
        }
        let ready = self.ready.load(Ordering::Relaxed);
        self.set_mode(BufferingMode::Streaming);
        self.ready.store(0, Ordering::Release);
        if !self.quiesce(patience) {
            self.ready.store(ready, Ordering::Release);
            self.set_mode(BufferingMode::Circular);
            return None;
        }
        // Nobody switches any more, so this stays the current epoch.
        let epoch = self.epoch.load(Ordering::Acquire);
        let current = self.last_switched(epoch);
        self.epoch.fetch_max(current, Ordering::AcqRel);
        let first = self.first_streamed(current, session.layout.units());
        let buffers = session.layout.rolling_buffers() as u64;
        self.streams_from.store(first, Ordering::Relaxed);
        // Released: a thread that begins a later epoch ends its scopes by the store above.
        self.ready.store(first + buffers - 1, Ordering::Release);
        let [first, current] = [first, current].map(|epoch| self.wrapped_count(epoch));
        Some(Streamed { first, current })
    }

    /// The oldest epoch that is saved: that of the oldest rolling buffer, or, if the current one
    /// is more than half full and no other is free, of the one behind it.
    fn first_streamed(&self, current: u64, units: u32) -> u64 {
        debug_assert!(is_recording(current), "the caller has found a session");
        let buffers = self.installed().map_or(1, |it| it.layout.rolling_buffers() as u64);
        let oldest = current.saturating_sub(buffers - 1);
        let first = oldest.max(self.first.load(Ordering::Relaxed));
        let reserved = self.allocation.load(Ordering::Acquire) as u32;
        let gives_up = first == oldest && buffers >= SPARE_OF && reserved > units / 2;
        first + u64::from(gives_up)
    }
}
