//! The threads of each CPU over time.
//!
//! Some kernels of virtual machines run no trace points for some threads, except in interrupts: the
//! idle threads of some CPUs and the threads of a sandbox's first process. `perf` and the text of
//! tracefs lack the same switches. A switch to such a hidden thread is recorded, and the next one
//! from it is missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::schedule::{Step, Steps};

/// The switches of each CPU in the order of time.
pub(crate) struct Cpus {
    switches: BTreeMap<u16, Vec<Switch>>,
    hidden: BTreeSet<(u16, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Switch {
    time: u64,
    from: u64,
    to: u64,
}

impl Cpus {
    /// Takes the steps of all threads of the machine.
    pub(crate) fn of(steps: &Steps) -> Self {
        let mut switches = BTreeMap::<u16, Vec<Switch>>::new();
        for (&to, steps) in steps {
            for &(time, step) in steps {
                let Step::In { cpu, from } = step else { continue };
                switches.entry(cpu).or_default().push(Switch { time, from, to });
            }
        }
        switches.values_mut().for_each(|switches| switches.sort_by_key(|switch| switch.time));
        let hidden = hidden(&switches);
        Self { switches, hidden }
    }

    /// Returns the CPU on which a thread runs at a time.
    pub(crate) fn cpu_of(&self, thread: u64, time: u64) -> Option<u16> {
        let around = self.switches.iter().map(|(cpu, switches)| {
            let next = switches.partition_point(|switch| switch.time <= time);
            let last = next.checked_sub(1).map(|last| switches[last].to);
            (*cpu, last, switches.get(next).map(|switch| switch.from))
        });
        let around: Vec<_> = around.collect();
        let runs = around.iter().find(|(_, last, _)| *last == Some(thread));
        let after_hidden = || {
            around.iter().find(|(cpu, last, next)| {
                let may_lack = last.is_none_or(|last| self.is_hidden(*cpu, last));
                may_lack && *next == Some(thread)
            })
        };
        runs.or_else(after_hidden).map(|(cpu, ..)| *cpu)
    }

    /// Returns whether the idle thread of a CPU is hidden.
    pub(crate) fn has_hidden_idle(&self) -> bool {
        self.hidden.iter().any(|(_, thread)| *thread == 0)
    }

    fn is_hidden(&self, cpu: u16, thread: u64) -> bool {
        self.hidden.contains(&place(cpu, thread))
    }
}

/// Returns the threads from which no switch is recorded, although one to them is.
fn hidden(switches: &BTreeMap<u16, Vec<Switch>>) -> BTreeSet<(u16, u64)> {
    let all = || {
        let of_cpu = |(cpu, switches): (&u16, &'_ Vec<Switch>)| {
            switches.iter().map(|switch| (*cpu, *switch)).collect::<Vec<_>>()
        };
        switches.iter().flat_map(of_cpu)
    };
    let seen: BTreeSet<_> = all().map(|(cpu, switch)| place(cpu, switch.from)).collect();
    let incoming: BTreeSet<_> = all().map(|(cpu, switch)| place(cpu, switch.to)).collect();
    incoming.difference(&seen).copied().collect()
}

/// Each CPU has an idle thread.
fn place(cpu: u16, thread: u64) -> (u16, u64) {
    (if thread == 0 { cpu } else { 0 }, thread)
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ThreadState;

    use super::*;
    use crate::schedule::add_switch;

    fn cpus(switches: &[(u64, u16, u64, u64)]) -> Cpus {
        let mut steps = Steps::new();
        for &(time, cpu, from, to) in switches {
            add_switch(&mut steps, time, cpu, (from, ThreadState::BLOCKED, to));
        }
        Cpus::of(&steps)
    }

    #[test]
    fn threads_between_their_switches() {
        let cpus = cpus(&[(10, 0, 0, 7), (20, 0, 7, 0), (30, 1, 0, 7), (40, 1, 7, 0)]);
        for (time, cpu) in [(9, None), (10, Some(0)), (20, None), (30, Some(1)), (40, None)] {
            assert_eq!(cpus.cpu_of(7, time), cpu, "{time}");
        }
        assert!(!cpus.has_hidden_idle());
    }

    /// Thread 7 starts on the idle CPU 1, whose idle thread is hidden.
    #[test]
    fn switches_from_hidden_threads() {
        let cpus = cpus(&[(5, 0, 0, 9), (6, 0, 9, 0), (10, 1, 8, 0), (20, 1, 7, 8), (30, 1, 8, 0)]);
        assert!(cpus.has_hidden_idle());
        assert_eq!(cpus.cpu_of(7, 15), Some(1));
        assert_eq!(cpus.cpu_of(7, 25), None);
        assert_eq!(cpus.cpu_of(9, 6), None);
    }

    #[test]
    fn threads_from_which_switches_are_recorded_are_not_hidden() {
        let cpus = cpus(&[(10, 0, 8, 9), (20, 0, 7, 9), (30, 0, 9, 8)]);
        assert_eq!(cpus.cpu_of(7, 15), None);
    }
}
