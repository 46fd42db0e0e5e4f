//! What a session does with the records of its providers.

use std::fmt;

use trace_protocol::archive::{ClockSample, Identity};
use trace_protocol::message::ClockSource;

use crate::error::ArchiveError;
use crate::guard::JoinedProvider;
use crate::records::Records;

/// The rate of a provider whose ticks are those of `CLOCK_BOOTTIME`.
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A consumer of the records of a session: an archive, files in another format, one file for each
/// process, or somebody who follows the session.
///
/// All methods are called on the thread that serves the providers, in the order of the session.
/// They must not wait for anything: what takes long belongs on a thread of the sink's own.
pub trait Sink: fmt::Debug + Send {
    /// Takes a provider that joins. Its records follow.
    fn open(&mut self, opening: &Opening<'_>);

    /// Takes records of a provider. What keeps them clones them, which copies nothing.
    fn take(&mut self, records: &Records);

    /// Takes the end of the session. Returns what waits until all is written, which is called on
    /// the thread of [`SessionHandle::join`](crate::SessionHandle::join).
    fn finish(self: Box<Self>, ending: Ending) -> Finish;
}

/// What a sink still has to write.
pub struct Finish(Box<dyn FnOnce() -> Result<u64, ArchiveError> + Send>);

impl Finish {
    /// Makes it of a function that waits until all is written, and returns the number of bytes.
    pub fn new(wait: impl FnOnce() -> Result<u64, ArchiveError> + Send + 'static) -> Self {
        Self(Box::new(wait))
    }

    /// Waits until all is written. Returns the number of bytes.
    pub(crate) fn wait(self) -> Result<u64, ArchiveError> {
        (self.0)()
    }
}

impl fmt::Debug for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finish").finish_non_exhaustive()
    }
}

/// A sink beside the archive of a session; see [`Manager::start_with_sinks`].
///
/// [`Manager::start_with_sinks`]: crate::Manager::start_with_sinks
#[derive(Debug)]
pub struct SinkRequest {
    /// The categories whose events it gets: patterns as
    /// [`SessionConfig::categories`](crate::SessionConfig::categories). None means all.
    pub categories: Vec<String>,
    /// The consumer.
    pub sink: Box<dyn Sink>,
}

impl SinkRequest {
    /// Ends the sink of a session that does not begin.
    pub(crate) fn discard(self) {
        // The sink removes what it has created without anybody who waits for that.
        drop(self.sink.finish(Ending { counter_rate: 0, is_discarded: true }));
    }
}

/// A provider that joins a session.
#[derive(Debug)]
pub struct Opening<'a> {
    pub(crate) joined: JoinedProvider<'a>,
    pub(crate) now: ClockSample,
    /// The rate of the CPU's counter as measured before the session, in ticks per second.
    pub(crate) counter_rate: u64,
}

impl Opening<'_> {
    /// Returns who the provider is.
    pub fn identity(&self) -> &Identity {
        self.joined.identity
    }

    /// Returns the clocks when it joined.
    pub fn now(&self) -> &ClockSample {
        &self.now
    }

    /// Returns the ticks per second of its clock: an estimate if that is the CPU's counter, of
    /// which [`Ending::counter_rate`] has the measured rate.
    pub fn ticks_per_second(&self) -> u64 {
        match self.identity().clock {
            ClockSource::Boottime => NANOS_PER_SECOND,
            ClockSource::CpuCounter => self.counter_rate,
        }
    }
}

/// The end of a session.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Ending {
    /// Ticks per second of the CPU's counter, measured over the session.
    pub counter_rate: u64,
    /// The caller wants no result: whatever was written is to be removed.
    pub is_discarded: bool,
}
