//! What the sessions and streams of a user may take.

use std::sync::Arc;

use trace_protocol::control::{GeneralError, Output, TraceConfig};
use trace_protocol::mode::BufferingMode;

use super::requests::{general, Refused};
use super::session::{buffer_size, ControlledSession};
use super::ControlMachine;
use crate::archive::MEMORY_LIMIT;
use crate::control_server::limits::ControlLimits;
use crate::control_server::triggers::rules;
use crate::sink::{StreamLease, STREAM_LIMIT};

impl ControlMachine {
    /// Checks that a user may have a further session.
    pub(super) fn check_quota(&self, uid: u32, config: &TraceConfig) -> Result<(), Refused> {
        let active = || {
            let sessions = self.sessions.values();
            sessions.filter(|session| session.uid() == uid && session.is_active())
        };
        if active().count() >= self.limits.sessions {
            let reason = format!("user {uid} has {} sessions, the limit", self.limits.sessions);
            return Err(general(GeneralError::Quota, reason));
        }
        let buffers = active()
            .map(ControlledSession::buffer_size)
            .fold(buffer_size(config), u64::saturating_add);
        if buffers > self.limits.buffers {
            let reason = format!(
                "the buffer sizes of all sessions of user {uid} would be {buffers} bytes, the limit \
                 is {}",
                self.limits.buffers
            );
            return Err(general(GeneralError::Quota, reason));
        }
        self.check_memory(uid, memory_of(config, &self.limits))
    }

    /// Checks that a user may take so much more memory, in bytes.
    fn check_memory(&self, uid: u32, more: u64) -> Result<(), Refused> {
        let sessions = self.sessions.values().filter(|it| it.uid() == uid && it.is_active());
        let sessions = sessions.map(|it| memory_of(&it.config, &self.limits));
        let streams = self.streams.get(&uid).map_or(0, |it| it.len() as u64) * STREAM_LIMIT as u64;
        let memory = sessions.fold(streams.saturating_add(more), u64::saturating_add);
        match memory <= self.limits.memory {
            true => Ok(()),
            false => Err(general(
                GeneralError::Quota,
                format!(
                    "the buffers, outputs and live streams of user {uid} would take {memory} bytes \
                     of memory, the limit is {}",
                    self.limits.memory
                ),
            )),
        }
    }

    /// Counts a live stream of a user until it ends.
    pub(super) fn lease_stream(&mut self, uid: u32) -> Result<Arc<StreamLease>, Refused> {
        self.streams.retain(|_, streams| {
            streams.retain(|stream| stream.strong_count() != 0);
            !streams.is_empty()
        });
        let number = self.streams.get(&uid).map_or(0, Vec::len);
        if number >= self.limits.streams {
            let reason = format!("user {uid} has {number} live streams, the limit");
            return Err(general(GeneralError::Quota, reason));
        }
        self.check_memory(uid, STREAM_LIMIT as u64)?;
        let lease = Arc::new(StreamLease);
        self.streams.entry(uid).or_default().push(Arc::downgrade(&lease));
        Ok(lease)
    }
}

/// Returns the memory that a session may take, in bytes: that of a buffer, also of the records that
/// the daemon keeps of it if the session streams beyond its mode, and of the records that wait for
/// the output.
fn memory_of(config: &TraceConfig, limits: &ControlLimits) -> u64 {
    let buffer = buffer_size(config);
    let streams = || config.shared || rules(config).iter().any(|it| it.condition.needs_streaming());
    let kept = if config.mode != BufferingMode::Streaming && streams() { buffer } else { 0 };
    let unwritten = match config.output {
        Output::Descriptor => limits.unwritten,
        Output::Beneath(_) => MEMORY_LIMIT,
    };
    buffer.saturating_add(kept).saturating_add(unwritten as u64)
}
