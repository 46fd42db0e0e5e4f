//! The threads whose samples the kernel has stopped.

use std::collections::BTreeMap;

use super::record::Body;
use super::timed::Timed;

/// The CPU and the thread of an event that has stopped, and the ticks from which on. A thread has
/// an event on each CPU.
#[derive(Debug, Default)]
pub(super) struct Throttled(BTreeMap<(u16, u32), u64>);

/// A time without samples of a thread on its CPU.
pub(super) type Pause = (u16, (u64, u64));

impl Throttled {
    /// Notes that samples stop. Returns the pauses that a record ends: an event continues, or its
    /// thread exits.
    pub(super) fn note(&mut self, timed: &Timed) -> Vec<Pause> {
        let key = (timed.cpu(), timed.record.sample.thread);
        match timed.record.body {
            Body::Throttle => {
                self.0.entry(key).or_insert(timed.ticks);
                Vec::new()
            }
            Body::Unthrottle => self.end(timed.ticks, |it| it == key),
            Body::Exit { thread, .. } => self.end(timed.ticks, |(_, of)| of == thread),
            _ => Vec::new(),
        }
    }

    /// Returns the pauses that have not ended.
    pub(super) fn finish(&mut self, now: u64) -> Vec<Pause> {
        self.end(now, |_| true)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn end(&mut self, ticks: u64, has_ended: impl Fn((u16, u32)) -> bool) -> Vec<Pause> {
        let mut pauses = Vec::new();
        self.0.retain(|key, since| {
            let ends = has_ended(*key);
            pauses.extend(ends.then_some((key.0, (*since, ticks))));
            !ends
        });
        pauses
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{PerfRecord, SampleId};
    use super::*;

    fn timed(ticks: u64, (cpu, thread): (u32, u32), body: Body) -> Timed {
        let sample = SampleId { process: 0, thread, time: 0, cpu };
        Timed { ticks, since: 0, record: PerfRecord { sample, body } }
    }

    #[test]
    fn a_pause_ends_with_its_own_event_and_its_thread() {
        let mut throttled = Throttled::default();
        for (ticks, at) in [(1, (0, 7)), (2, (0, 8)), (3, (1, 7)), (4, (0, 7)), (5, (1, 9))] {
            assert!(throttled.note(&timed(ticks, at, Body::Throttle)).is_empty());
        }
        assert_eq!(throttled.note(&timed(6, (0, 8), Body::Unthrottle)), [(0, (2, 6))]);
        assert!(throttled.note(&timed(7, (0, 8), Body::Unthrottle)).is_empty());
        let exit = Body::Exit { process: 7, thread: 7 };
        assert_eq!(throttled.note(&timed(8, (2, 7), exit)), [(0, (1, 8)), (1, (3, 8))]);
        assert_eq!(throttled.finish(9), [(1, (5, 9))]);
        assert!(throttled.finish(10).is_empty());
    }

    #[test]
    fn samples_that_the_cpu_lost_are_no_losses_of_the_buffer() {
        let lost = timed(5, (0, 7), Body::LostSamples { number: 3 });
        assert!(lost.loss().is_none());
        assert!(timed(5, (0, 7), Body::Lost { number: 3 }).loss().is_some());
    }
}
