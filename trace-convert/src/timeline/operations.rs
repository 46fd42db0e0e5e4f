//! Operations across threads.
//!
//! Begin and end are of different threads, and can stand in the archive in any
//! order: they are put in the order of time first.

use std::collections::{BTreeMap, HashMap};

use super::arguments::join;
use super::nest::Halves;
use super::rows::{packed, Point, Row, RowKind, Slice};
use trace_analyze::catalog::{Catalog, LabelId};

/// The operations of all processes.
#[derive(Debug, Default)]
pub(super) struct Operations {
    halves: HashMap<(u64, LabelId, u64), Vec<Half>>,
    points: Vec<(u64, Point)>,
}

/// A begin or an end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half {
    pub(super) at: u64,
    pub(super) arguments: u32,
    pub(super) is_begin: bool,
}

/// The operations of a process that have the same category and name.
#[derive(Debug, Default)]
struct Kind {
    slices: Vec<Slice>,
    points: Vec<Point>,
}

impl Operations {
    pub(super) fn half(&mut self, process: u64, label: LabelId, id: u64, half: Half) {
        self.halves.entry((process, label, id)).or_default().push(half);
    }

    pub(super) fn point(&mut self, process: u64, point: Point) {
        self.points.push((process, point));
    }

    /// Returns a row for each kind, with its process; `last` is where those
    /// end that have not ended.
    pub(super) fn rows(
        self,
        last: u64,
        catalog: &Catalog,
        all: &mut Vec<u8>,
        missing: &mut Halves,
    ) -> Vec<(u64, Row)> {
        let mut kinds: BTreeMap<(u64, LabelId), Kind> = BTreeMap::new();
        for ((process, label, _), halves) in self.halves {
            let slices = &mut kinds.entry((process, label)).or_default().slices;
            pair(halves, (label, last), all, missing, slices);
        }
        for (process, point) in self.points {
            kinds.entry((process, point.label)).or_default().points.push(point);
        }
        let row = |((process, label), mut kind): ((u64, LabelId), Kind)| {
            kind.points.sort_by_key(|point| point.at);
            let row = Row {
                kind: RowKind::Operation,
                name: catalog.name(label).to_owned(),
                lanes: packed(kind.slices),
                points: kind.points,
                ..Row::default()
            };
            (process, row)
        };
        kinds.into_iter().map(row).collect()
    }
}

/// Puts the halves of operations with the same id together: an end is of the
/// one that began last.
fn pair(
    mut halves: Vec<Half>,
    (label, last): (LabelId, u64),
    all: &mut Vec<u8>,
    missing: &mut Halves,
    slices: &mut Vec<Slice>,
) {
    halves.sort_by_key(|half| half.at);
    let mut open: Vec<Half> = Vec::new();
    for half in halves {
        if half.is_begin {
            open.push(half);
        } else if let Some(begin) = open.pop() {
            let arguments = join(all, begin.arguments, half.arguments);
            slices.push(Slice { begin: begin.at, end: half.at, label, arguments, is_open: false });
        } else {
            missing.ends += 1;
        }
    }
    missing.begins += open.len() as u64;
    slices.extend(open.iter().map(|Half { at, arguments, .. }| Slice {
        begin: *at,
        end: last.max(*at),
        label,
        arguments: *arguments,
        is_open: true,
    }));
}
