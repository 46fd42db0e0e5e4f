//! The parents of async operations.
//!
//! An operation's parent is the operation whose id it has as the argument `parent`, as traced
//! futures and spans of `tracing` have it.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record};

use crate::catalog::{Catalog, LabelId};
use crate::{arguments, Damage};

/// The most operations whose parents are known.
const MAX_OPERATIONS: usize = 4 << 20;

/// The most ancestors of an operation.
pub(crate) const MAX_ANCESTORS: usize = 64;

/// Returns the id of the parent of the operation that an event begins.
pub fn parent_of(item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
    match event.kind {
        EventKind::AsyncBegin { .. } => arguments::named_unsigned(item, &event.arguments, "parent"),
        _ => None,
    }
}

/// The operations of an archive, with their parents.
#[derive(Debug, Default)]
pub struct Parents {
    catalog: Catalog,
    /// The label and the parent's id of each operation, by process and id.
    operations: HashMap<(u64, u64), (LabelId, Option<u64>)>,
    /// Operations beyond the limit.
    unknown: u64,
}

impl Parents {
    /// Reads the operations of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ReadError> {
        let mut parents = Self::default();
        Damage::of_all(reader, |item| parents.record(item))?;
        Ok(parents)
    }

    /// Adds the next record of the archive.
    pub fn record(&mut self, item: &Item<'_>) {
        self.catalog.note(item);
        let Record::Event(event) = &item.record else { return };
        let EventKind::AsyncBegin { id } = event.kind else { return };
        if self.operations.len() >= MAX_OPERATIONS {
            self.unknown += 1;
            return;
        }
        let label = self.catalog.label(item, event.category, event.name);
        let process = item.thread(event.thread).process;
        // If an id is used again, the first parent counts.
        self.operations.entry((process, id)).or_insert((label, parent_of(item, event)));
    }

    /// Returns the number of operations whose parents are not known, because there are too many.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Returns the id of an operation's parent.
    #[must_use]
    pub fn parent(&self, process: u64, id: u64) -> Option<u64> {
        self.operations.get(&(process, id))?.1
    }

    /// Returns the process and the id of each operation with this id, and of its descendants.
    #[must_use]
    pub fn descendants(&self, id: u64) -> HashSet<(u64, u64)> {
        let descends = |(process, own): &(u64, u64)| {
            let next = |at: &u64| self.parent(*process, *at);
            std::iter::successors(Some(*own), next).take(MAX_ANCESTORS).any(|at| at == id)
        };
        self.operations.keys().copied().filter(descends).collect()
    }

    /// Returns the labels of an operation's ancestors, the outermost one first.
    #[must_use]
    pub fn ancestors(&self, process: u64, id: u64) -> Vec<LabelId> {
        self.parent(process, id).map_or_else(Vec::new, |parent| self.labels(process, parent))
    }

    /// Returns the categories and names of an operation's ancestors, the outermost one first, and
    /// its own.
    #[must_use]
    pub fn names(&self, process: u64, id: u64) -> Vec<(String, String)> {
        let texts = |label| (self.catalog.category(label), self.catalog.name(label));
        let labels = self.labels(process, id).into_iter().map(texts);
        labels.map(|(category, name)| (category.to_owned(), name.to_owned())).collect()
    }

    /// Returns the labels of an operation's ancestors and its own label.
    fn labels(&self, process: u64, id: u64) -> Vec<LabelId> {
        let mut labels = Vec::new();
        let mut next = Some(id);
        while let Some((label, parent)) =
            next.and_then(|id| self.operations.get(&(process, id))).copied()
        {
            if labels.len() >= MAX_ANCESTORS {
                break;
            }
            labels.push(label);
            next = parent;
        }
        labels.reverse();
        labels
    }

    /// Returns the names of labels, joined by arrows: `request → user`.
    #[must_use]
    pub fn path(&self, labels: &[LabelId]) -> String {
        let names: Vec<&str> = labels.iter().map(|label| self.catalog.name(*label)).collect();
        names.join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, Thread, ThreadKoids, Value};

    use super::*;
    use crate::testing::archive;

    fn begin<'a>(id: u64, name: &'a str, arguments: &'a [Argument<'a>]) -> Record<'a> {
        let kind = EventKind::AsyncBegin { id };
        let (thread, arguments) = (Thread::Inline(ThreadKoids::new(1, 5)), arguments.into());
        let (category, name) = ("cat".into(), name.into());
        Event { ticks: id, thread, category, name, kind, arguments }.into()
    }

    #[test]
    fn ancestors_come_in_order_and_end() {
        let parent = |id| [Argument::new("parent", Value::Uint64(id))];
        let (one, two, itself) = (parent(1), parent(2), parent(9));
        let records = [
            // The records of threads come in any order.
            begin(3, "query", &two),
            begin(2, "user", &one),
            begin(1, "request", &[]),
            begin(9, "loop", &itself),
        ];
        let archive = archive(&records);
        let parents = Parents::read(Reader::new(&*archive)).unwrap();
        assert_eq!((parents.parent(1, 3), parents.parent(2, 3)), (Some(2), None));
        let path = |id| parents.path(&parents.ancestors(1, id));
        assert_eq!((path(3), path(1)), ("request → user".to_owned(), String::new()));
        assert_eq!(parents.ancestors(1, 9).len(), MAX_ANCESTORS);
        assert_eq!(parents.descendants(2), HashSet::from([(1, 2), (1, 3)]));
        assert_eq!(parents.descendants(9), HashSet::from([(1, 9)]));
        assert!(parents.descendants(7).is_empty());
    }
}
