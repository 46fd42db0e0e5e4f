//! The sinks of a session's records.

mod follower;

use std::fmt;

use trace_protocol::archive::{ClockSample, Identity};
use trace_protocol::message::ClockSource;

use crate::error::ArchiveError;
use crate::ledger::JoinedProvider;
use crate::records::Records;

pub(crate) use follower::{Follower, StreamLease, LIMIT as STREAM_LIMIT};

/// The rate of `CLOCK_BOOTTIME`.
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A consumer of the records of a session, such as an archive, a file in another format, or a live
/// view.
///
/// All methods are called on the thread that serves the providers, in the order of the session.
/// They must not block: a sink that needs time uses its own thread.
pub trait Sink: fmt::Debug + Send {
    /// Adds a provider that joins. Its records follow.
    fn open(&mut self, opening: &Opening<'_>);

    /// Consumes records of a provider. A sink may keep a clone, which shares the words.
    fn take(&mut self, records: &Records);

    /// Ends the session. Returns a function that waits until all records are written. It is called
    /// on the thread of [`SessionHandle::join`](crate::SessionHandle::join).
    fn finish(self: Box<Self>, ending: Ending) -> Finish;
}

/// The unfinished writes of a sink.
pub struct Finish(Box<dyn FnOnce() -> Result<u64, ArchiveError> + Send>);

impl Finish {
    /// Creates it from a function that waits until all records are written, and returns the number
    /// of bytes.
    pub fn new(wait: impl FnOnce() -> Result<u64, ArchiveError> + Send + 'static) -> Self {
        Self(Box::new(wait))
    }

    /// Waits until all records are written. Returns the number of bytes.
    pub(crate) fn wait(self) -> Result<u64, ArchiveError> {
        (self.0)()
    }
}

impl fmt::Debug for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finish").finish_non_exhaustive()
    }
}

/// A further sink of a session; see [`Manager::start_with_sinks`].
///
/// [`Manager::start_with_sinks`]: crate::Manager::start_with_sinks
#[derive(Debug)]
pub struct SinkRequest {
    /// The categories whose events it gets: patterns as in
    /// [`SessionConfig::categories`](crate::SessionConfig::categories). An empty list selects all.
    pub categories: Vec<String>,
    /// The consumer.
    pub sink: Box<dyn Sink>,
}

impl SinkRequest {
    /// Ends the sink of a session that does not start.
    pub(crate) fn discard(self) {
        // Does not wait: the sink removes its output on its own.
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
    /// Returns the provider's identity.
    pub fn identity(&self) -> &Identity {
        self.joined.identity
    }

    /// Returns the clocks at the time when it joined.
    pub fn now(&self) -> &ClockSample {
        &self.now
    }

    /// Returns the ticks per second of its clock. For the CPU's counter, this is an estimate;
    /// [`Ending::counter_rate`] has the measured rate.
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
    /// The caller has discarded the session: sinks remove their outputs.
    pub is_discarded: bool,
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::fixture::{buffer, identity, layout};
    use trace_protocol::buffer::consumer::IdentityPolicy;
    use trace_protocol::buffer::header::BufferingMode;

    #[test]
    fn each_clock_has_its_rate() {
        let layout = layout(BufferingMode::Oneshot);
        let buffer = buffer(&layout);
        for (clock, rate) in
            [(ClockSource::Boottime, NANOS_PER_SECOND), (ClockSource::CpuCounter, 77)]
        {
            let identity = Identity { clock, ..identity() };
            let policy = IdentityPolicy::Own(4711);
            let (buffer, packets) = (&buffer, buffer.as_fd());
            let joined = JoinedProvider {
                identity: &identity,
                policy,
                joined_at: 5,
                dropped_before: None,
                overwritten_reports: 0,
                streams_from: None,
                reported_before: 0,
                layout,
                buffer,
                packets,
            };
            let opening = Opening { joined, now: ClockSample::now(), counter_rate: 77 };
            assert_eq!((opening.ticks_per_second(), opening.identity().clock), (rate, clock));
        }
    }
}
