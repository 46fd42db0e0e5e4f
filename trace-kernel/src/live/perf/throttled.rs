//! The events whose samples the kernel has stopped.

use std::collections::BTreeMap;

use super::record::Body;
use super::sys::Target;
use super::timed::Timed;

/// The most events that are known to have stopped.
const MAX_PAUSED: usize = 1 << 16;

/// The events that have stopped, by their numbers.
///
/// The thread of a record is the one that the CPU ran. It is the event's own thread only if the
/// event is of a thread, so the number identifies the event.
#[derive(Debug, Default)]
pub(crate) struct Throttled {
    /// Whether each event is of one thread and ends with it.
    is_of_threads: bool,
    stopped: BTreeMap<u64, Stopped>,
}

/// An event that has stopped.
#[derive(Clone, Copy, Debug)]
struct Stopped {
    cpu: u16,
    thread: u32,
    since: u64,
}

/// A time without samples of an event on its CPU.
pub(crate) type Pause = (u16, (u64, u64));

impl Throttled {
    pub(super) fn new(targets: &[Target]) -> Self {
        let is_of_threads =
            targets.iter().all(|target| matches!(target, Target::Thread(_) | Target::OneThread(_)));
        Self { is_of_threads, stopped: BTreeMap::new() }
    }

    /// Says whether each event is of one thread.
    pub(crate) fn set_of_threads(&mut self, is_of_threads: bool) {
        self.is_of_threads = is_of_threads;
    }

    /// Notes that samples stop. Returns the pauses that a record ends: an event continues, or its
    /// thread exits.
    pub(crate) fn note(&mut self, timed: &Timed) -> Vec<Pause> {
        match timed.record.body {
            Body::Throttle { event } => {
                let (cpu, thread) = (timed.cpu(), timed.record.sample.thread);
                let stopped = Stopped { cpu, thread, since: timed.ticks };
                if self.stopped.len() >= MAX_PAUSED && !self.stopped.contains_key(&event) {
                    return Vec::new();
                }
                // The kernel dropped the record that the event continues if it has stopped before.
                let before = self.stopped.insert(event, stopped);
                before.map(|it| it.until(timed.ticks)).into_iter().collect()
            }
            Body::Unthrottle { event } => self.end(timed.ticks, |of, _| of == event),
            Body::Exit { thread, .. } if self.is_of_threads => {
                self.end(timed.ticks, |_, it| it.thread == thread)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the pauses that have not ended.
    pub(crate) fn finish(&mut self, now: u64) -> Vec<Pause> {
        self.end(now, |_, _| true)
    }

    pub(super) fn clear(&mut self) {
        self.stopped.clear();
    }

    fn end(&mut self, ticks: u64, has_ended: impl Fn(u64, &Stopped) -> bool) -> Vec<Pause> {
        let mut pauses = Vec::new();
        self.stopped.retain(|event, stopped| {
            let ends = has_ended(*event, stopped);
            pauses.extend(ends.then(|| stopped.until(ticks)));
            !ends
        });
        pauses
    }
}

impl Stopped {
    fn until(self, ticks: u64) -> Pause {
        (self.cpu, (self.since, ticks))
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

    fn throttle(event: u64) -> Body {
        Body::Throttle { event }
    }

    fn unthrottle(event: u64) -> Body {
        Body::Unthrottle { event }
    }

    #[test]
    fn a_pause_of_a_thread_ends_with_its_own_event_and_its_thread() {
        let mut throttled = Throttled::new(&[Target::Thread(7), Target::Thread(9)]);
        let at = [(0, 7), (0, 8), (1, 7), (1, 9)];
        for (event, at) in (1..).zip(at) {
            assert!(throttled.note(&timed(event, at, throttle(event))).is_empty());
        }
        assert_eq!(throttled.note(&timed(6, (0, 8), unthrottle(2))), [(0, (2, 6))]);
        assert!(throttled.note(&timed(7, (0, 8), unthrottle(2))).is_empty());
        let exit = Body::Exit { process: 7, thread: 7 };
        assert_eq!(throttled.note(&timed(8, (2, 7), exit)), [(0, (1, 8)), (1, (3, 8))]);
        assert_eq!(throttled.finish(9), [(1, (4, 9))]);
        assert!(throttled.finish(10).is_empty());
    }

    /// The records have the threads that the CPU ran.
    #[test]
    fn a_pause_of_a_cpu_ends_with_its_event_whatever_thread_runs() {
        let mut throttled = Throttled::new(&[Target::Cpu]);
        assert!(throttled.note(&timed(1, (0, 7), throttle(5))).is_empty());
        assert!(throttled.note(&timed(2, (1, 7), throttle(6))).is_empty());
        let exit = Body::Exit { process: 7, thread: 7 };
        assert!(throttled.note(&timed(3, (0, 7), exit)).is_empty(), "others run on the CPU");
        assert_eq!(throttled.note(&timed(4, (0, 8), unthrottle(5))), [(0, (1, 4))]);
        assert_eq!(throttled.note(&timed(5, (1, 9), unthrottle(6))), [(1, (2, 5))]);
        assert!(throttled.finish(6).is_empty());
    }

    #[test]
    fn an_event_that_stops_twice_has_continued_in_between() {
        let mut throttled = Throttled::new(&[Target::Cpu]);
        assert!(throttled.note(&timed(1, (0, 7), throttle(5))).is_empty());
        assert_eq!(throttled.note(&timed(4, (0, 8), throttle(5))), [(0, (1, 4))]);
        assert_eq!(throttled.note(&timed(6, (0, 9), unthrottle(5))), [(0, (4, 6))]);
    }
}
