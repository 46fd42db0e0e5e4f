//! The time of async operations, nested by their parents.
//!
//! Children of an operation that run at the same time are added up: an operation takes at least as
//! long as its children together. Memory grows with the number of operations.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use trace_format::{ReadError, Reader, Record};

use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing, Track, Unpaired};
use crate::parents::{parent_of, Parents};
use crate::Damage;

/// The most begins and ends of operations that wait for each other.
const MAX_WAITING: usize = 1 << 20;

/// The time of operations.
#[derive(Debug, Default)]
pub struct Nested {
    /// The time in nanoseconds that no child takes, by the names of the operation and its
    /// ancestors, the outermost one first.
    pub times: BTreeMap<Vec<String>, u64>,
    /// Begins without an end, and ends without a begin.
    pub unpaired: Unpaired,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// The process and the parent of operations, and their label.
type Kind = (u64, Option<u64>, LabelId);

#[derive(Debug, Default)]
struct Totals {
    nanos: HashMap<Kind, u64>,
    unpaired: Unpaired,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome<Option<u64>>) {
        let (begin, end) = match outcome {
            Outcome::Pair { begin, end } => (begin, end),
            Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => {
                return self.unpaired.count(edge)
            }
        };
        let Track::Operation { process, .. } = begin.track else { return };
        let total = self.nanos.entry((process, begin.value, begin.label)).or_default();
        *total = total.saturating_add(end.nanos - begin.nanos);
    }
}

/// Returns the time of an archive's operations.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>) -> Result<Nested, ReadError> {
    let mut catalog = Catalog::default();
    let mut parents = Parents::default();
    let mut pairing = Pairing::new(MAX_WAITING);
    let mut totals = Totals::default();
    let damage = Damage::of_all(reader, |item| {
        catalog.note(item);
        parents.record(item);
        let Record::Event(event) = &item.record else { return };
        let Some(edge) = Edge::of(&mut catalog, item, event, parent_of(item, event)) else {
            return;
        };
        if let Track::Operation { .. } = edge.track {
            pairing.push(&catalog, edge).for_each(|outcome| totals.add(&outcome));
        }
    })?;
    pairing.finish(&catalog).for_each(|outcome| totals.add(&outcome));
    let times = times(&totals.nanos, &catalog, &parents);
    Ok(Nested { times, unpaired: totals.unpaired, damage })
}

/// Subtracts the time of children from that of their parents.
fn times(
    totals: &HashMap<Kind, u64>,
    catalog: &Catalog,
    parents: &Parents,
) -> BTreeMap<Vec<String>, u64> {
    let mut times: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    let mut children: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for ((process, parent, label), nanos) in totals {
        let mut path = parent.map_or_else(Vec::new, |parent| parents.names(*process, parent));
        if !path.is_empty() {
            let sum = children.entry(path.clone()).or_default();
            *sum = sum.saturating_add(*nanos);
        }
        path.push(catalog.name(*label).to_owned());
        let total = times.entry(path).or_default();
        *total = total.saturating_add(*nanos);
    }
    for (path, nanos) in children {
        if let Some(total) = times.get_mut(&path) {
            *total = total.saturating_sub(nanos);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, Event, EventKind, Thread, ThreadKoids, Value};

    use super::*;
    use crate::testing::archive;
    use EventKind::{AsyncBegin, AsyncEnd};

    fn event<'a>(
        ticks: u64,
        name: &'a str,
        kind: EventKind,
        arguments: &'a [Argument<'a>],
    ) -> Record<'a> {
        let thread = Thread::Inline(ThreadKoids::new(1, 5));
        let (category, name, arguments) = ("cat".into(), name.into(), arguments.into());
        Event { ticks, thread, category, name, kind, arguments }.into()
    }

    #[test]
    fn children_take_the_time_of_their_parents() {
        let of_one = [Argument::new("parent", Value::Uint64(1))];
        let of_two = [Argument::new("parent", Value::Uint64(2))];
        let records = [
            event(10, "user", AsyncBegin { id: 2 }, &of_one),
            event(20, "query", AsyncBegin { id: 3 }, &of_two),
            event(50, "query", AsyncEnd { id: 3 }, &[]),
            event(60, "user", AsyncEnd { id: 2 }, &[]),
            event(0, "request", AsyncBegin { id: 1 }, &[]),
            event(70, "query", AsyncBegin { id: 4 }, &of_one),
            event(75, "query", AsyncEnd { id: 4 }, &[]),
            event(100, "request", AsyncEnd { id: 1 }, &[]),
        ];
        let nested = read(Reader::new(&*archive(&records))).unwrap();
        let times: Vec<(String, u64)> =
            nested.times.iter().map(|(path, nanos)| (path.join(" "), *nanos)).collect();
        let expected = [
            ("request".to_owned(), 45),
            ("request query".to_owned(), 5),
            ("request user".to_owned(), 20),
            ("request user query".to_owned(), 30),
        ];
        assert_eq!(times, expected);
    }
}
