//! Rows by category and name, and by process or thread.

use std::collections::HashMap;

use trace_format::ThreadKoids;

use super::{Distribution, Group, Grouping, Row, Sample};
use crate::catalog::{Catalog, DenseMap, LabelId};
use crate::pairing::Edge;

/// Numbers for processes or threads.
#[derive(Debug, Default)]
pub(super) struct Groups {
    grouping: Grouping,
    list: Vec<ThreadKoids>,
    ids: HashMap<ThreadKoids, u32>,
    /// The thread that was asked for last.
    last: Option<(ThreadKoids, u32)>,
}

impl Groups {
    pub(super) fn new(grouping: Grouping) -> Self {
        Self { grouping, ..Self::default() }
    }

    /// Returns the number of the group that a thread is in.
    #[inline]
    pub(super) fn of(&mut self, koids: ThreadKoids) -> u32 {
        match (self.grouping, self.last) {
            (Grouping::Together, _) => 0,
            (_, Some((last, id))) if last == koids => id,
            _ => self.of_slow(koids),
        }
    }

    fn of_slow(&mut self, koids: ThreadKoids) -> u32 {
        let group = match self.grouping {
            Grouping::Thread => koids,
            _ => ThreadKoids::new(koids.process, 0),
        };
        let next = self.list.len() as u32;
        let id = *self.ids.entry(group).or_insert(next);
        if id == next {
            self.list.push(group);
        }
        self.last = Some((koids, id));
        id
    }

    pub(super) fn group(&self, id: u32, catalog: &Catalog) -> Option<Group> {
        if self.grouping == Grouping::Together {
            return None;
        }
        let koids = *self.list.get(id as usize)?;
        let thread_name = match self.grouping {
            Grouping::Thread => catalog.thread_name(koids).to_owned(),
            _ => String::new(),
        };
        let process_name = catalog.process_name(koids.process).to_owned();
        Some(Group { koids, process_name, thread_name })
    }
}

/// Rows of one kind.
#[derive(Debug, Default)]
pub(super) struct Table {
    ids: DenseMap<u32>,
    rows: Vec<Entry>,
    is_sampled: bool,
}

/// A row without its names.
#[derive(Debug)]
pub(super) struct Entry {
    group: u32,
    label: LabelId,
    pub(super) lengths: Distribution,
    pub(super) self_nanos: u64,
    pub(super) on_cpu_nanos: Option<u64>,
    pub(super) sample: Option<Sample>,
}

impl Table {
    /// With samples, if they are wanted.
    pub(super) fn new(is_sampled: bool) -> Self {
        Self { is_sampled, ..Self::default() }
    }

    /// Returns the row for a group and a label.
    #[inline]
    pub(super) fn row(&mut self, group: u32, label: LabelId) -> &mut Entry {
        let key = u64::from(group) << 32 | u64::from(label.0);
        let next = self.rows.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.new_row(group, label);
        }
        self.rows.get_mut(id as usize).expect("`ids` has places in `rows` only")
    }

    /// Adds an operation or a flow to its row.
    pub(super) fn link(&mut self, groups: &mut Groups, begin: &Edge<ThreadKoids>, end: u64) {
        let row = self.row(groups.of(begin.value), begin.label);
        let length = end.saturating_sub(begin.nanos);
        row.lengths.add(length);
        if let Some(sample) = &mut row.sample {
            sample.add(begin.nanos, length);
        }
    }

    #[cold]
    fn new_row(&mut self, group: u32, label: LabelId) {
        let lengths = Distribution::default();
        let sample = self.is_sampled.then(Sample::default);
        self.rows.push(Entry { group, label, lengths, self_nanos: 0, on_cpu_nanos: None, sample });
    }

    /// Returns all rows with their names; those that took longest first.
    pub(super) fn into_rows(self, groups: &Groups, catalog: &Catalog) -> Vec<Row> {
        let row = |entry: Entry| Row {
            category: catalog.category(entry.label).to_owned(),
            name: catalog.name(entry.label).to_owned(),
            group: groups.group(entry.group, catalog),
            lengths: entry.lengths,
            self_nanos: entry.self_nanos,
            on_cpu_nanos: entry.on_cpu_nanos,
            sample: entry.sample.unwrap_or_default(),
        };
        let mut rows: Vec<Row> = self.rows.into_iter().map(row).collect();
        rows.sort_by(|a, b| {
            let key = |row: &Row| (row.lengths.sum(), row.lengths.count());
            let names = || (&a.category, &a.name).cmp(&(&b.category, &b.name));
            key(b).cmp(&key(a)).then_with(names)
        });
        rows
    }
}
