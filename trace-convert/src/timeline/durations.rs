//! Durations of threads and async operations, from their begins and ends.

use std::collections::BTreeMap;

use trace_analyze::catalog::{Catalog, LabelId};
use trace_analyze::pairing::{Edge, Outcome, Pairing, Track, Unpaired};
use trace_format::ThreadKoids;

use super::arguments::join;
use super::rows::{packed, Point, Row, RowKind, Slice};

/// Begins and ends, and the operations that they form.
#[derive(Debug)]
pub(super) struct Durations {
    /// The value of each edge is the place of its arguments.
    edges: Pairing<u32>,
    /// The operations of a process that have the same category and name.
    kinds: BTreeMap<(u64, LabelId), Kind>,
    /// Unpaired events of threads, and of operations.
    pub(super) unpaired: [Unpaired; 2],
}

#[derive(Debug, Default)]
struct Kind {
    slices: Vec<Slice>,
    points: Vec<Point>,
}

impl Default for Durations {
    fn default() -> Self {
        // A timeline is in memory, so that pairing needs no limit.
        let edges = Pairing::new(usize::MAX);
        Self { edges, kinds: BTreeMap::new(), unpaired: Default::default() }
    }
}

impl Durations {
    pub(super) fn push(&mut self, catalog: &Catalog, edge: Edge<u32>) {
        self.edges.push(catalog, edge);
    }

    /// Adds an instant of an operation.
    pub(super) fn point(&mut self, process: u64, point: Point) {
        self.kinds.entry((process, point.label)).or_default().points.push(point);
    }

    /// Pairs all begins and ends, and calls `thread` for durations of threads. Durations without an
    /// end last until `last`.
    pub(super) fn pair(
        &mut self,
        last: u64,
        catalog: &Catalog,
        arguments: &mut Vec<u8>,
        mut thread: impl FnMut(ThreadKoids, Slice),
    ) {
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
                Track::Operation { process, .. } => {
                    self.kinds.entry((process, edge.label)).or_default().slices.push(slice);
                }
                Track::Flow { .. } => {}
            }
        }
    }

    /// Returns a row for each kind of operation, with its process.
    pub(super) fn rows(self, catalog: &Catalog) -> Vec<(u64, Row)> {
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
        self.kinds.into_iter().map(row).collect()
    }
}

fn slice(begin: &Edge<u32>, end: u64, is_open: bool) -> Slice {
    let Edge { nanos, label, value: arguments, .. } = *begin;
    Slice { begin: nanos, end: end.max(nanos), label, arguments, is_open }
}
