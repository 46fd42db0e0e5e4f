//! The time of async operations, nested by their parents.
//!
//! The time of an operation's children is subtracted from that operation only, and only within its
//! own time. Where children overlap, the time counts once. Memory grows with the number of
//! operations.

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
    /// The time in nanoseconds that no child takes, by the categories and names of the operation
    /// and its ancestors, the outermost one first.
    pub times: BTreeMap<Vec<(String, String)>, u64>,
    /// Begins without an end, and ends without a begin.
    pub unpaired: Unpaired,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// An operation with its process and id.
#[derive(Debug)]
struct Operation {
    key: (u64, u64),
    parent: Option<u64>,
    label: LabelId,
    begin: u64,
    end: u64,
}

#[derive(Debug, Default)]
struct Totals {
    operations: Vec<Operation>,
    unpaired: Unpaired,
}

/// The times at which a child runs, in order and disjoint: begin, end, and the sum of the lengths
/// before.
#[derive(Debug, Default)]
struct Covered(Vec<(u64, u64, u64)>);

impl Covered {
    /// Adds a time that does not begin before the others.
    fn add(&mut self, begin: u64, end: u64) {
        let sum = match self.0.last_mut() {
            Some(last) if begin <= last.1 => {
                last.1 = last.1.max(end);
                return;
            }
            Some(last) => last.2 + (last.1 - last.0),
            None => 0,
        };
        self.0.push((begin, end, sum));
    }

    /// Returns the covered time before a time.
    fn before(&self, time: u64) -> u64 {
        let next = self.0.partition_point(|(begin, ..)| *begin < time);
        let last = next.checked_sub(1).and_then(|place| self.0.get(place));
        last.map_or(0, |(begin, end, sum)| sum + (time.min(*end) - begin))
    }
}

impl Totals {
    fn add(&mut self, outcome: &Outcome<Option<u64>>) {
        let (begin, end) = match outcome {
            Outcome::Pair { begin, end } => (begin, end),
            Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => {
                return self.unpaired.count(edge)
            }
        };
        let Track::Operation { process, id } = begin.track else { return };
        let (key, parent, label) = ((process, id), begin.value, begin.label);
        let (begin, end) = (begin.nanos, end.nanos);
        self.operations.push(Operation { key, parent, label, begin, end });
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
    let times = times(totals.operations, &catalog, &parents);
    Ok(Nested { times, unpaired: totals.unpaired, damage })
}

/// Returns the time of operations by their path, without that of their children.
fn times(
    mut operations: Vec<Operation>,
    catalog: &Catalog,
    parents: &Parents,
) -> BTreeMap<Vec<(String, String)>, u64> {
    operations.sort_by_key(|operation| operation.begin);
    let mut children: HashMap<(u64, u64), Covered> = HashMap::new();
    for Operation { key, parent, begin, end, .. } in &operations {
        if let Some(parent) = parent {
            children.entry((key.0, *parent)).or_default().add(*begin, *end);
        }
    }
    let mut nanos: HashMap<(u64, Option<u64>, LabelId), u64> = HashMap::new();
    for Operation { key, parent, label, begin, end } in &operations {
        let covered = children.get(key).map_or(0, |all| all.before(*end) - all.before(*begin));
        let total = nanos.entry((key.0, *parent, *label)).or_default();
        *total = total.saturating_add(end - begin - covered);
    }
    let mut times: BTreeMap<Vec<(String, String)>, u64> = BTreeMap::new();
    for ((process, parent, label), nanos) in nanos {
        let mut path = parent.map_or_else(Vec::new, |parent| parents.names(process, parent));
        path.push((catalog.category(label).to_owned(), catalog.name(label).to_owned()));
        let total = times.entry(path).or_default();
        *total = total.saturating_add(nanos);
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
        of_category("cat", ticks, name, kind, arguments)
    }

    fn of_category<'a>(
        category: &'a str,
        ticks: u64,
        name: &'a str,
        kind: EventKind,
        arguments: &'a [Argument<'a>],
    ) -> Record<'a> {
        let thread = Thread::Inline(ThreadKoids::new(1, 5));
        let (category, name, arguments) = (category.into(), name.into(), arguments.into());
        Event { ticks, thread, category, name, kind, arguments }.into()
    }

    /// Returns the names of each path with its time.
    fn times_by_name(nested: &Nested) -> Vec<(String, u64)> {
        let names = |path: &[(String, String)]| {
            path.iter().map(|(_, name)| &**name).collect::<Vec<_>>().join(" ")
        };
        nested.times.iter().map(|(path, nanos)| (names(path), *nanos)).collect()
    }

    #[test]
    fn operations_of_several_categories_have_their_own_time() {
        let of_one = [Argument::new("parent", Value::Uint64(1))];
        let records = [
            of_category("db", 0, "query", AsyncBegin { id: 1 }, &[]),
            of_category("web", 10, "query", AsyncBegin { id: 2 }, &of_one),
            of_category("web", 30, "query", AsyncEnd { id: 2 }, &[]),
            of_category("db", 100, "query", AsyncEnd { id: 1 }, &[]),
            of_category("web", 200, "query", AsyncBegin { id: 3 }, &[]),
            of_category("web", 205, "query", AsyncEnd { id: 3 }, &[]),
        ];
        let nested = read(Reader::new(&*archive(&records))).unwrap();
        let frame = |category: &str| (category.to_owned(), "query".to_owned());
        let (db, web) = (frame("db"), frame("web"));
        let expected = [(vec![db.clone()], 80), (vec![db, web.clone()], 20), (vec![web], 5)];
        assert_eq!(nested.times, BTreeMap::from(expected));
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
        let times = times_by_name(&nested);
        let expected = [
            ("request".to_owned(), 45),
            ("request query".to_owned(), 5),
            ("request user".to_owned(), 20),
            ("request user query".to_owned(), 30),
        ];
        assert_eq!(times, expected);
    }

    /// The long query is of one request, and overlaps with the other query.
    #[test]
    fn children_take_the_time_of_their_own_parents() {
        let of_one = [Argument::new("parent", Value::Uint64(1))];
        let records = [
            event(0, "request", AsyncBegin { id: 1 }, &[]),
            event(5, "query", AsyncBegin { id: 2 }, &of_one),
            event(6, "query", AsyncBegin { id: 3 }, &of_one),
            event(8, "query", AsyncEnd { id: 3 }, &[]),
            event(10, "request", AsyncEnd { id: 1 }, &[]),
            event(90, "query", AsyncEnd { id: 2 }, &[]),
            event(100, "request", AsyncBegin { id: 4 }, &[]),
            event(130, "request", AsyncEnd { id: 4 }, &[]),
        ];
        let nested = read(Reader::new(&*archive(&records))).unwrap();
        let times = times_by_name(&nested);
        assert_eq!(times, [("request".to_owned(), 35), ("request query".to_owned(), 87)]);
    }
}
