//! Cutting the archive of a session into parts.
//!
//! A part repeats what its records need: each provider's opening and durable records. It ends with
//! the number of losses that a later part reports, and a clock anchor for each provider. Records
//! that a provider has not handed over at the cut are in a later part, and so are its reports of
//! losses: all parts together report each loss once.

use std::path::PathBuf;
use std::time::Duration;

use trace_protocol::archive::{ClockSample, Identity};
use trace_protocol::message::ClockSource;

use super::Recording;
use crate::clock::counter_rate;
use crate::collection::Collection;
use crate::config::Rotation;
use crate::records::Records;

/// The time for which providers hand over their records before a cut by time.
const FLUSH_TIME: Duration = Duration::from_millis(100);

/// The share of a part that its repeated names may be: a fourth. Else each part would be full at
/// once.
const MAX_REPEATED: u64 = 4;

/// The next step towards a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RotationStep {
    /// Flush the providers.
    Flush,
    /// Cut the archive.
    Cut,
}

/// Decides when the archive is cut. Times are since the start of the session.
#[derive(Debug)]
pub(super) struct Rotator {
    limits: Rotation,
    /// The start of the present part.
    begun: Duration,
    /// The size of the records that the present part repeats, in bytes.
    repeated: u64,
    flushed: Option<Duration>,
}

impl Rotator {
    pub(super) fn new(limits: Rotation) -> Self {
        Self { limits, begun: Duration::ZERO, repeated: 0, flushed: None }
    }

    /// Returns the step that is due. `bytes` is the size of the present part, or `None` if it has
    /// no records.
    fn step(&mut self, bytes: Option<u64>, now: Duration) -> Option<RotationStep> {
        let size = self.limits.size.map(|size| size.max(self.repeated * MAX_REPEATED));
        if bytes.is_some_and(|bytes| size.is_some_and(|size| bytes >= size)) {
            return Some(RotationStep::Cut);
        }
        let interval = self.limits.interval?;
        match self.flushed {
            None if now.saturating_sub(self.begun) < interval => None,
            None => {
                self.flushed = Some(now);
                Some(RotationStep::Flush)
            }
            Some(at) if now.saturating_sub(at) < FLUSH_TIME => None,
            Some(_) if bytes.is_some() => Some(RotationStep::Cut),
            Some(_) => {
                self.begin(now, self.repeated);
                None
            }
        }
    }

    /// Begins a part that repeats this many bytes, or prolongs one without records.
    fn begin(&mut self, now: Duration, repeated: u64) {
        (self.begun, self.repeated, self.flushed) = (now, repeated, None);
    }
}

impl Recording {
    /// Returns the next step towards a cut of the archive, if one is due.
    pub(crate) fn rotation_step(&mut self) -> Option<RotationStep> {
        let (bytes, now) = (self.outputs.archive.part_bytes(), self.elapsed());
        let step = self.rotator.as_mut()?.step(bytes, now);
        // The last records of a provider that has left need its opening, which is in this part. A
        // snapshot has the parts up to this one, and the buffers of the providers from that time.
        let can_cut = self.finishing == 0 && self.next_uncopied().is_none();
        step.filter(|step| *step == RotationStep::Flush || can_cut)
    }

    /// Returns the paths of the parts that got their names since the last call.
    pub(crate) fn take_new_parts(&self) -> Vec<PathBuf> {
        match self.rotator {
            Some(_) => self.outputs.archive.take_new_parts(),
            None => Vec::new(),
        }
    }

    /// Ends the present part of the archive, and begins the next one. All copies are checked before
    /// the call.
    pub(crate) fn cut(&mut self, collection: &mut Collection) {
        let now = ClockSample::now();
        let rate = counter_rate(&self.start_clocks, &now).unwrap_or(self.estimated_rate);
        let mut reported = Vec::new();
        for provider in collection.of_session_mut(self.number) {
            let held_back = self.retention.held_back_reports(provider.id());
            let cut = provider.cut(self.number, &now, held_back);
            let Some((closing, losses)) = cut else { continue };
            let mut words = Records::begin(&self.spares, provider.id());
            closing.write_now(&mut words, provider.identity(), &now);
            self.outputs.take(&self.block(provider.id(), words));
            let mut words = Records::begin(&self.spares, provider.id());
            closing.write_reported_later(&mut words, provider.identity());
            self.outputs.archive.end_part(&self.block(provider.id(), words));
            reported.push(losses);
        }
        self.outputs.archive.cut(rate);
        for (provider, reported) in collection.of_session(self.number).zip(reported) {
            let (identity, durable) = (provider.identity(), provider.durable_records());
            let rate = ticks_per_second(identity, rate);
            self.outputs.archive.reopen(identity, rate, &now, durable, reported);
        }
        let (elapsed, repeated) = (self.elapsed(), self.outputs.archive.present_bytes());
        self.rotator.iter_mut().for_each(|rotator| rotator.begin(elapsed, repeated));
    }
}

/// Returns the rate of a provider's clock. `rate` is that of the CPU's counter.
pub(super) fn ticks_per_second(identity: &Identity, rate: u64) -> u64 {
    match identity.clock {
        ClockSource::CpuCounter => rate,
        ClockSource::Boottime => 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rotator(size: Option<u64>, interval: Option<Duration>) -> Rotator {
        Rotator::new(Rotation { size, interval, keep: None })
    }

    #[test]
    fn a_part_is_cut_when_it_has_reached_the_size() {
        let mut rotator = rotator(Some(100), None);
        assert_eq!(rotator.step(Some(99), 9 * SECOND), None);
        assert_eq!(rotator.step(None, 9 * SECOND), None);
        assert_eq!(rotator.step(Some(100), SECOND), Some(RotationStep::Cut));
    }

    /// Else it would be full as soon as it has the names.
    #[test]
    fn a_part_is_larger_than_the_names_that_it_repeats() {
        let mut rotator = rotator(Some(100), None);
        rotator.begin(SECOND, 50);
        assert_eq!(rotator.step(Some(199), 2 * SECOND), None);
        assert_eq!(rotator.step(Some(200), 2 * SECOND), Some(RotationStep::Cut));
        rotator.begin(SECOND, 25);
        assert_eq!(rotator.step(Some(100), 2 * SECOND), Some(RotationStep::Cut));
    }

    #[test]
    fn providers_are_flushed_before_a_cut_by_time() {
        let mut rotator = rotator(None, Some(SECOND));
        assert_eq!(rotator.step(Some(1), SECOND / 2), None);
        assert_eq!(rotator.step(Some(1), SECOND), Some(RotationStep::Flush));
        assert_eq!(rotator.step(Some(1), SECOND + FLUSH_TIME / 2), None);
        assert_eq!(rotator.step(Some(1), SECOND + FLUSH_TIME), Some(RotationStep::Cut));
        assert_eq!(rotator.step(Some(1), 2 * SECOND), Some(RotationStep::Cut), "it was not cut");
        rotator.begin(2 * SECOND, 0);
        assert_eq!(rotator.step(Some(1), 3 * SECOND - FLUSH_TIME), None);
    }

    #[test]
    fn a_part_without_records_is_prolonged() {
        let mut rotator = rotator(None, Some(SECOND));
        assert_eq!(rotator.step(None, SECOND), Some(RotationStep::Flush));
        assert_eq!(rotator.step(None, 2 * SECOND), None);
        assert_eq!(rotator.step(None, 3 * SECOND - FLUSH_TIME), None);
        assert_eq!(rotator.step(None, 3 * SECOND), Some(RotationStep::Flush));
    }

    #[test]
    fn the_size_does_not_wait_for_a_flush() {
        let mut rotator = rotator(Some(100), Some(SECOND));
        assert_eq!(rotator.step(Some(1), SECOND), Some(RotationStep::Flush));
        assert_eq!(rotator.step(Some(100), SECOND), Some(RotationStep::Cut));
    }
}
