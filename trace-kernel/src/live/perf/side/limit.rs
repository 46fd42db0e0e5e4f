//! A limit of the events that are kept.

use std::collections::BTreeSet;

use crate::live::perf::aux_event::AuxEvent;

/// Keeps the first events.
#[derive(Debug)]
pub(super) struct Limit {
    most: usize,
    /// The CPUs whose thread is not known any more, because their events are not kept.
    closed: BTreeSet<u32>,
}

impl Limit {
    pub(super) fn new(most: usize) -> Self {
        Self { most, closed: BTreeSet::new() }
    }

    /// Removes the events beyond the limit, which are the last ones, and returns their number. A
    /// CPU that loses a switch has no thread from then on.
    pub(super) fn keep(&mut self, events: &mut Vec<(u64, AuxEvent)>) -> u64 {
        let most = self.most + self.closed.len();
        let beyond = events.split_off(most.min(events.len()));
        for (time, event) in &beyond {
            let (AuxEvent::Entered { cpu, .. } | AuxEvent::Left { cpu }) = event else { continue };
            if self.closed.insert(*cpu) {
                events.push((*time, AuxEvent::Left { cpu: *cpu }));
            }
        }
        beyond.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(cpu: u32) -> AuxEvent {
        AuxEvent::Entered { cpu, process: 7, thread: 8 }
    }

    #[test]
    fn cpus_have_no_thread_behind_the_limit() {
        let (mut limit, mut events) = (Limit::new(2), vec![(1, entered(0))]);
        assert_eq!(limit.keep(&mut events), 0);
        events.extend([(2, entered(1)), (3, entered(0)), (4, entered(0))]);
        assert_eq!(limit.keep(&mut events), 2);
        let left = |time, cpu| (time, AuxEvent::Left { cpu });
        let expected = [(1, entered(0)), (2, entered(1)), left(3, 0)];
        assert_eq!(events, expected);
        events.extend([(5, entered(1)), (6, entered(0)), (7, AuxEvent::Left { cpu: 1 })]);
        assert_eq!(limit.keep(&mut events), 3);
        assert_eq!(events, [&expected[..], &[left(5, 1)]].concat());
    }
}
