//! The rows of CPUs.

use std::collections::BTreeMap;

use super::rows::{nested, Group, Point, Row, RowKind, Slice};
use trace_analyze::catalog::Catalog;
use trace_analyze::scheduling::{Cpu, Switch, Turn, Turns};

/// The CPUs, by provider and number.
#[derive(Debug, Default)]
pub(super) struct Cpus {
    cpus: BTreeMap<Cpu, OnCpu>,
    /// The time of the last record: what a CPU ran after that is unknown.
    last: u64,
    /// The begins and ends of times in which a provider recorded nothing.
    gaps: Vec<(Option<u32>, u64, u64)>,
}

#[derive(Debug, Default)]
struct OnCpu {
    /// Context switches, each with the place of its arguments.
    switches: Vec<(Switch, u32)>,
    wakeups: Vec<Point>,
}

impl Cpus {
    pub(super) fn switch(&mut self, switch: Switch, arguments: u32) {
        self.recorded_until(switch.nanos);
        self.cpus.entry(switch.cpu).or_default().switches.push((switch, arguments));
    }

    pub(super) fn wakeup(&mut self, cpu: Cpu, wakeup: Point) {
        self.recorded_until(wakeup.at);
        self.cpus.entry(cpu).or_default().wakeups.push(wakeup);
    }

    /// Notes that scheduling was recorded until a time.
    pub(super) fn recorded_until(&mut self, nanos: u64) {
        self.last = self.last.max(nanos);
    }

    /// Notes that a provider recorded nothing between two times. What CPUs ran then is unknown.
    pub(super) fn interrupted(&mut self, provider: Option<u32>, from: u64, to: u64) {
        self.gaps.push((provider, from, to));
    }

    /// Returns a row for each CPU. `name` returns the name of a thread.
    pub(super) fn group(
        self,
        range: (u64, u64),
        catalog: &mut Catalog,
        name: impl Fn(&Catalog, u64) -> String,
    ) -> Option<Group> {
        if self.cpus.is_empty() {
            return None;
        }
        let category = catalog.intern("cpu");
        let (first, last) = (range.0, range.1.min(self.last));
        let has_cpus = |provider| self.cpus.keys().any(|(other, _)| *other == provider);
        let gaps = self.gaps.iter().filter(|(provider, ..)| has_cpus(*provider));
        let gaps: Vec<(u64, u64)> = gaps.map(|(_, from, to)| (*from, *to)).collect();
        let first_before = |end| gaps.iter().map(|gap| gap.1).filter(|to| *to <= end).max();
        let last_after = |begin| gaps.iter().map(|gap| gap.0).filter(|from| *from >= begin).min();
        let mut rows = Vec::with_capacity(self.cpus.len());
        for ((_, number), mut cpu) in self.cpus {
            for (switch, _) in &mut cpu.switches {
                *switch = switch.marked(catalog);
            }
            let slice = |turn: Turn<u32>| {
                let name = name(catalog, turn.task.thread);
                let name = catalog.intern(&name);
                let label = catalog.label_of(category, name);
                let known = turn.to.map(|(end, _)| end);
                let begin = turn.from.or_else(|| known.and_then(first_before)).unwrap_or(first);
                let end = known.or_else(|| last_after(begin)).unwrap_or(last);
                let begin = begin.min(end);
                Slice { begin, end, label, arguments: turn.value, order: 0, is_open: false }
            };
            cpu.switches.sort_by_key(|(switch, _)| switch.nanos);
            let mut turns = Turns::default();
            let ended = cpu.switches.iter().filter_map(|(switch, arguments)| {
                turns.push(switch, *arguments).filter(|turn| turn.to.is_some())
            });
            let mut drawn: Vec<Turn<u32>> = ended.collect();
            let open = turns.finish().into_iter();
            drawn.extend(open.filter(|turn| !turn.task.is_partial));
            let slices = drawn.into_iter().map(slice).collect();
            cpu.wakeups.sort_by_key(|point| point.at);
            rows.push(Row {
                kind: RowKind::Cpu,
                name: format!("CPU {number}"),
                lanes: nested(slices),
                points: cpu.wakeups,
                ..Row::default()
            });
        }
        Some(Group { name: "CPUs".into(), rows })
    }
}
