//! Durations of threads and async operations, from their begins and ends.

use std::collections::BTreeMap;

use trace_analyze::catalog::{Catalog, LabelId};
use trace_analyze::pairing::{Edge, Outcome, Pairing, Track, Unpaired};
use trace_format::ThreadKoids;

use super::arguments::{join, unsigned};
use super::rows::{Point, Row, RowKind, Slice};
use super::tree::{forest, Operation};

/// Begins and ends, and the operations that they form.
#[derive(Debug)]
pub(super) struct Durations {
    /// The value of each edge is the place of its arguments.
    edges: Pairing<u32>,
    /// The operations of each process.
    processes: BTreeMap<u64, Operations>,
    /// Unpaired events of threads, and of operations.
    pub(super) unpaired: [Unpaired; 2],
}

#[derive(Debug, Default)]
struct Operations {
    list: Vec<Operation>,
    /// Instants with the ids of their operations.
    points: Vec<(u64, Point)>,
}

impl Default for Durations {
    fn default() -> Self {
        // A timeline is in memory, so that pairing needs no limit.
        let edges = Pairing::new(usize::MAX);
        Self { edges, processes: BTreeMap::new(), unpaired: Default::default() }
    }
}

impl Durations {
    pub(super) fn push(&mut self, catalog: &Catalog, edge: Edge<u32>) {
        self.edges.push(catalog, edge);
    }

    /// Returns the order of a duration whose only record comes now.
    pub(super) fn order(&self) -> u32 {
        self.edges.next_number()
    }

    /// Adds an instant of an operation.
    pub(super) fn point(&mut self, process: u64, id: u64, point: Point) {
        self.processes.entry(process).or_default().points.push((id, point));
    }

    /// Pairs all begins and ends, and calls `thread` for durations of threads. Durations without an
    /// end last until `last`.
    pub(super) fn pair(
        &mut self,
        last: u64,
        catalog: &mut Catalog,
        arguments: &mut Vec<u8>,
        mut thread: impl FnMut(ThreadKoids, Slice),
    ) {
        let parent = catalog.intern("parent");
        let edges = std::mem::replace(&mut self.edges, Pairing::new(usize::MAX));
        for outcome in edges.finish(catalog) {
            let [of_threads, of_operations] = &mut self.unpaired;
            let (Outcome::Pair { begin: edge, .. }
            | Outcome::Cut { begin: edge, .. }
            | Outcome::Unpaired(edge)) = outcome;
            let unpaired = match edge.track {
                Track::Thread(_) => of_threads,
                _ => of_operations,
            };
            let slice = match outcome {
                Outcome::Pair { begin, end } => {
                    let arguments = join(arguments, begin.value, end.value);
                    Slice { arguments, ..slice(&begin, end.nanos, false) }
                }
                Outcome::Cut { begin, over } => {
                    unpaired.count(&begin);
                    slice(&begin, over, true)
                }
                Outcome::Unpaired(edge) => {
                    unpaired.count(&edge);
                    if edge.is_end {
                        continue;
                    }
                    slice(&edge, last, true)
                }
            };
            match edge.track {
                Track::Thread(koids) => thread(koids, slice),
                Track::Operation { process, id } => {
                    let parent = unsigned(arguments, edge.value, parent, catalog);
                    let operation = Operation { slice, id, parent };
                    self.processes.entry(process).or_default().list.push(operation);
                }
                Track::Flow { .. } => {}
            }
        }
    }

    /// Returns the rows of operations, with their processes.
    pub(super) fn rows(self, catalog: &Catalog) -> Vec<(u64, Row)> {
        let rows = |(process, operations): (u64, Operations)| {
            operations.rows(catalog).into_iter().map(move |row| (process, row))
        };
        self.processes.into_iter().flat_map(rows).collect()
    }
}

impl Operations {
    /// Returns a row for each label of outermost operations. Instants are in the row of their
    /// operation.
    fn rows(self, catalog: &Catalog) -> Vec<Row> {
        let forest = forest(self.list);
        let mut rows: BTreeMap<LabelId, Row> = BTreeMap::new();
        for (label, lanes) in forest.rows {
            let (lanes, identities) = (lanes.slices, lanes.identities);
            rows.insert(label, Row { lanes, identities, ..Row::default() });
        }
        for (id, point) in self.points {
            let label = forest.row_of_id.get(&id).copied().unwrap_or(point.label);
            rows.entry(label).or_default().points.push(point);
        }
        let named = |(label, mut row): (LabelId, Row)| {
            row.kind = RowKind::Operation;
            row.name = catalog.name(label).to_owned();
            row.points.sort_by_key(|point| point.at);
            row
        };
        rows.into_iter().map(named).collect()
    }
}

fn slice(begin: &Edge<u32>, end: u64, is_open: bool) -> Slice {
    let (Edge { nanos, label, value: arguments, .. }, order) = (*begin, begin.number());
    Slice { begin: nanos, end: end.max(nanos), label, arguments, order, is_open }
}
