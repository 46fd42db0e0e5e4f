//! The rows of CPUs.

use std::collections::BTreeMap;

use super::rows::{nested, Group, Point, Row, RowKind, Slice};
use trace_analyze::catalog::Catalog;
use trace_analyze::scheduling::{Cpu, Switch, Turn, Turns};

/// The CPUs, by provider and number.
#[derive(Debug, Default)]
pub(super) struct Cpus(BTreeMap<Cpu, OnCpu>);

#[derive(Debug, Default)]
struct OnCpu {
    /// Context switches, each with the place of its arguments.
    switches: Vec<(Switch, u32)>,
    wakeups: Vec<Point>,
}

impl Cpus {
    pub(super) fn switch(&mut self, switch: Switch, arguments: u32) {
        self.0.entry(switch.cpu).or_default().switches.push((switch, arguments));
    }

    pub(super) fn wakeup(&mut self, cpu: Cpu, wakeup: Point) {
        self.0.entry(cpu).or_default().wakeups.push(wakeup);
    }

    /// Returns a row for each CPU. `name` returns the name of a thread.
    pub(super) fn group(
        self,
        range: (u64, u64),
        catalog: &mut Catalog,
        name: impl Fn(&Catalog, u64) -> String,
    ) -> Option<Group> {
        if self.0.is_empty() {
            return None;
        }
        let category = catalog.intern("cpu");
        let mut rows = Vec::with_capacity(self.0.len());
        for ((_, number), mut cpu) in self.0 {
            let mut slice = |turn: Turn<u32>| {
                let name = name(catalog, turn.task.thread);
                let name = catalog.intern(&name);
                let label = catalog.label_of(category, name);
                let end = turn.to.map_or(range.1, |(end, _)| end);
                let begin = turn.from.unwrap_or(range.0).min(end);
                Slice { begin, end, label, arguments: turn.value, is_open: false }
            };
            cpu.switches.sort_by_key(|(switch, _)| switch.nanos);
            let mut turns = Turns::default();
            let ended = cpu.switches.iter().filter_map(|(switch, arguments)| {
                turns.push(switch, *arguments).filter(|turn| turn.to.is_some())
            });
            let mut slices: Vec<Slice> = ended.map(&mut slice).collect();
            slices.extend(turns.finish().into_iter().map(slice));
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
