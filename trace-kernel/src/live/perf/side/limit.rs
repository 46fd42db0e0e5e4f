//! A limit of the events that are kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::live::perf::aux_event::AuxEvent;

/// Keeps the first switches, and the first facts about processes: names, starts and mappings.
#[derive(Debug)]
pub(super) struct Limit {
    /// The most switches, and the most facts.
    most: usize,
    /// The number of events that were looked at and kept.
    kept: usize,
    switches: usize,
    facts: usize,
    /// The time of the last switch of each CPU that is kept.
    cpus: BTreeMap<u32, u64>,
    /// The CPUs whose thread is not known any more, because their switches are not kept.
    closed: BTreeSet<u32>,
}

impl Limit {
    pub(super) fn new(most: usize) -> Self {
        let (cpus, closed) = (BTreeMap::new(), BTreeSet::new());
        Self { most, kept: 0, switches: 0, facts: 0, cpus, closed }
    }

    /// Removes the events beyond the limit, and returns their number. Events were only added since
    /// the last call.
    ///
    /// A CPU that loses a switch has no thread from its last one on. If a fact is lost, no CPU has:
    /// the code of a process would be that of before the fact.
    pub(super) fn keep(&mut self, events: &mut Vec<(u64, AuxEvent)>) -> u64 {
        let mut lost = 0;
        for (time, event) in events.split_off(self.kept) {
            let is_kept = match event {
                AuxEvent::Entered { cpu, .. } | AuxEvent::Left { cpu } => {
                    self.keep_switch(cpu, time, events)
                }
                _ => self.keep_fact(events),
            };
            match is_kept {
                true => events.push((time, event)),
                false => lost += 1,
            }
        }
        self.kept = events.len();
        lost
    }

    fn keep_switch(&mut self, cpu: u32, time: u64, events: &mut Vec<(u64, AuxEvent)>) -> bool {
        if self.switches < self.most && self.facts <= self.most {
            self.switches += 1;
            self.cpus.insert(cpu, time);
            return true;
        }
        self.close(cpu, events);
        false
    }

    fn keep_fact(&mut self, events: &mut Vec<(u64, AuxEvent)>) -> bool {
        self.facts += 1;
        if self.facts <= self.most {
            return true;
        }
        for cpu in self.cpus.keys().copied().collect::<Vec<_>>() {
            self.close(cpu, events);
        }
        false
    }

    /// Ends the turn of the CPU's last thread.
    fn close(&mut self, cpu: u32, events: &mut Vec<(u64, AuxEvent)>) {
        if let (true, Some(last)) = (self.closed.insert(cpu), self.cpus.get(&cpu)) {
            events.push((*last, AuxEvent::Left { cpu }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(cpu: u32) -> AuxEvent {
        AuxEvent::Entered { cpu, process: 7, thread: 8 }
    }

    fn forked(process: u32) -> AuxEvent {
        AuxEvent::Forked { process, thread: process, creator: 1 }
    }

    fn left(time: u64, cpu: u32) -> (u64, AuxEvent) {
        (time, AuxEvent::Left { cpu })
    }

    #[test]
    fn cpus_have_no_thread_behind_the_limit_of_switches() {
        let (mut limit, mut events) = (Limit::new(2), vec![(1, entered(0))]);
        assert_eq!(limit.keep(&mut events), 0);
        events.extend([(2, entered(1)), (3, entered(0)), (4, entered(0)), (4, forked(9))]);
        assert_eq!(limit.keep(&mut events), 2);
        let expected = [(1, entered(0)), (2, entered(1)), left(1, 0), (4, forked(9))];
        assert_eq!(events, expected, "facts have a limit of their own");
        events.extend([(5, entered(1)), (6, entered(0)), (7, AuxEvent::Left { cpu: 1 })]);
        assert_eq!(limit.keep(&mut events), 3);
        assert_eq!(events, [&expected[..], &[left(2, 1)]].concat());
    }

    #[test]
    fn no_cpu_has_a_thread_behind_the_limit_of_facts() {
        let (mut limit, mut events) = (Limit::new(2), vec![(1, entered(0)), (2, entered(1))]);
        events.extend([(3, forked(2)), (4, forked(3)), (5, forked(4)), (6, entered(0))]);
        assert_eq!(limit.keep(&mut events), 2);
        let kept = [(1, entered(0)), (2, entered(1)), (3, forked(2)), (4, forked(3))];
        assert_eq!(events, [&kept[..], &[left(1, 0), left(2, 1)]].concat());
        events.extend([(7, entered(2)), (8, forked(5))]);
        assert_eq!((limit.keep(&mut events), events.len()), (2, 6));
    }
}
