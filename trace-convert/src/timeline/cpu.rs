//! What ran on each CPU.

use std::collections::BTreeMap;

use super::rows::{nested, Group, Point, Row, RowKind, Slice};
use trace_analyze::catalog::Catalog;

/// A change of the thread that runs, by koids; 0 is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch {
    pub(super) at: u64,
    pub(super) outgoing: u64,
    pub(super) incoming: u64,
    pub(super) arguments: u32,
}

/// The CPUs, by provider and number.
#[derive(Debug, Default)]
pub(super) struct Cpus(BTreeMap<(Option<u32>, u16), Cpu>);

#[derive(Debug, Default)]
struct Cpu {
    switches: Vec<Switch>,
    wakeups: Vec<Point>,
}

impl Cpus {
    pub(super) fn switch(&mut self, cpu: (Option<u32>, u16), switch: Switch) {
        self.0.entry(cpu).or_default().switches.push(switch);
    }

    pub(super) fn wakeup(&mut self, cpu: (Option<u32>, u16), wakeup: Point) {
        self.0.entry(cpu).or_default().wakeups.push(wakeup);
    }

    /// Returns a row for each CPU; `name` tells what to call a thread.
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
            let turn = |(thread, begin, end, arguments)| {
                let name = name(catalog, thread);
                let name = catalog.intern(&name);
                let label = catalog.label_of(category, name);
                Slice { begin, end, label, arguments, is_open: false }
            };
            let slices = turns(&mut cpu.switches, range).into_iter().map(turn).collect();
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

/// Returns which thread ran from when to when. Where the thread that goes is
/// not the one that came, what happened between is missing.
fn turns(switches: &mut [Switch], (first, last): (u64, u64)) -> Vec<(u64, u64, u64, u32)> {
    switches.sort_by_key(|switch| switch.at);
    let mut turns = Vec::with_capacity(switches.len() + 1);
    let mut running: Option<Switch> = None;
    for switch in switches.iter() {
        let (thread, since, arguments) = running
            .map_or((switch.outgoing, first, 0), |came| (came.incoming, came.at, came.arguments));
        if thread == switch.outgoing && thread != 0 {
            turns.push((thread, since.min(switch.at), switch.at, arguments));
        }
        running = Some(*switch);
    }
    if let Some(came) = running.filter(|came| came.incoming != 0) {
        turns.push((came.incoming, came.at, last.max(came.at), came.arguments));
    }
    turns
}
