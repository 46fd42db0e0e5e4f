//! Rows by category and name, and by group.

use std::cmp::Reverse;

use super::groups::Groups;
use super::joined::hash;
use super::{Distribution, JoinedNames, Row, Sample};
use crate::catalog::{Catalog, DenseMap, LabelId};
use crate::pairing::Edge;
use crate::spans::Role;

/// The most rows. An archive with more names is read in bounded memory.
const MAX_ROWS: usize = 1 << 18;

/// The most rows with samples.
const MAX_SAMPLED: usize = 1 << 16;

/// Rows of one kind.
///
/// If there are too many, the half with the least total time is joined.
#[derive(Debug)]
pub(super) struct Table {
    /// The place of each row.
    ids: DenseMap<u32>,
    rows: Vec<Entry>,
    /// Whether rows have samples.
    is_sampled: bool,
    /// The total time of each joined name.
    joined: DenseMap<u64>,
    /// The row that joined names share.
    shared: Entry,
}

/// A row without its names.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// Group and label.
    key: u64,
    pub(super) lengths: Distribution,
    pub(super) self_nanos: u64,
    pub(super) on_cpu_nanos: Option<u64>,
    pub(super) sample: Option<Sample>,
    /// The total time, if the name is joined.
    joined_nanos: u64,
    /// The events with the group of a duration or operation around them.
    pub(super) inherited: u64,
}

impl Entry {
    fn group(&self) -> u32 {
        group_of(self.key)
    }

    fn label(&self) -> LabelId {
        label_of(self.key)
    }
}

fn group_of(key: u64) -> u32 {
    (key >> 32) as u32
}

fn label_of(key: u64) -> LabelId {
    LabelId(key as u32)
}

impl Table {
    pub(super) fn new(is_sampled: bool) -> Self {
        Self {
            ids: DenseMap::default(),
            rows: Vec::new(),
            is_sampled,
            joined: DenseMap::default(),
            shared: Entry::default(),
        }
    }

    pub(super) fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    fn max_rows(&self) -> usize {
        if self.is_sampled {
            MAX_SAMPLED
        } else {
            MAX_ROWS
        }
    }

    /// Returns the least number of rows after others are joined.
    fn min_rows(&self) -> usize {
        self.max_rows() / 2
    }

    /// Adds a length to the row for a group and a label. Returns the row.
    #[inline]
    pub(super) fn add(&mut self, group: u32, label: LabelId, length: u64) -> &mut Entry {
        let key = u64::from(group) << 32 | u64::from(label.0);
        let row = match self.ids.get(&key) {
            Some(id) => self.rows.get_mut(*id as usize).expect("`ids` has places of `rows` only"),
            None => self.other_row(key, length),
        };
        row.lengths.add(length);
        row
    }

    /// Adds an operation or a flow to the row of its group.
    pub(super) fn link(&mut self, (group, is_inherited): (u32, bool), begin: &Edge<u32>, end: u64) {
        let length = end.saturating_sub(begin.nanos);
        let row = self.add(group, begin.label, length);
        row.inherited += u64::from(is_inherited);
        if let Some(sample) = &mut row.sample {
            sample.add(begin.nanos, length);
        }
    }

    /// Returns the row of a joined name, or a new one.
    #[inline(never)]
    fn other_row(&mut self, key: u64, length: u64) -> &mut Entry {
        match self.joined.get_mut(&key) {
            Some(nanos) => {
                *nanos = nanos.saturating_add(length);
                &mut self.shared
            }
            None => self.new_row(key),
        }
    }

    fn new_row(&mut self, key: u64) -> &mut Entry {
        if self.rows.len() >= self.max_rows() {
            self.join_rows();
        }
        self.ids.insert(key, self.rows.len() as u32);
        let sample = self.is_sampled.then(Sample::default);
        self.rows.push(Entry { key, sample, ..Entry::default() });
        self.rows.last_mut().expect("a row was added")
    }

    /// Joins the half of the rows that has the least total time so far. A joined name stays joined,
    /// so that the other rows are complete.
    fn join_rows(&mut self) {
        let order = |row: &Entry| Reverse((row.lengths.sum(), row.lengths.count()));
        self.rows.sort_unstable_by_key(order);
        let joined = self.rows.drain(self.min_rows()..);
        self.joined.extend(joined.map(|row| (row.key, row.lengths.sum())));
        self.ids.clear();
        self.ids.extend(self.rows.iter().zip(0..).map(|(row, place)| (row.key, place)));
    }

    /// Returns the number of events with the values beyond the limit of a duration or operation
    /// around them.
    pub(super) fn inherited_others(&self, groups: &Groups<'_>) -> u64 {
        let others = self.rows.iter().filter(|row| groups.is_other(row.group()));
        others.map(|row| row.inherited).sum()
    }

    /// Adds the names that share a row to `joined`.
    pub(super) fn add_joined(
        &self,
        groups: &Groups<'_>,
        catalog: &Catalog,
        joined: &mut JoinedNames,
    ) {
        let group = groups.names(catalog);
        let hashes = self.joined.keys().map(|key| {
            let (label, group) = (label_of(*key), group(group_of(*key)));
            let value = group.and_then(|group| group.value);
            hash((catalog.category(label), catalog.name(label), value.as_ref()))
        });
        joined.add(hashes, self.joined.values().fold(0, |sum, nanos| sum.saturating_add(*nanos)));
    }

    /// Returns the joined names with more time than the last of the rows that stay after others are
    /// joined. These are the names that took most of their time after they were joined.
    fn long_joined(&self) -> Vec<(u64, u64)> {
        if !self.is_sampled {
            return Vec::new();
        }
        let mut totals: Vec<u64> = self.rows.iter().map(|row| row.lengths.sum()).collect();
        totals.sort_unstable_by_key(|nanos| Reverse(*nanos));
        let least = totals.get(self.min_rows() - 1).copied().unwrap_or(0);
        let joined = self.joined.iter().map(|(key, nanos)| (*key, *nanos));
        let mut long: Vec<_> = joined.filter(|(_, nanos)| *nanos > least).collect();
        long.sort_unstable_by_key(|(_, nanos)| Reverse(*nanos));
        long.truncate(self.min_rows());
        long
    }

    /// Returns all rows with their names. If rows have samples, joined names have one, without
    /// lengths, if they took much time. The longest total time comes first.
    pub(super) fn into_rows(self, groups: &Groups<'_>, catalog: &Catalog) -> Vec<Row> {
        let group = groups.names(catalog);
        let row = |entry: Entry| Row {
            category: catalog.category(entry.label()).to_owned(),
            name: catalog.name(entry.label()).to_owned(),
            group: group(entry.group()),
            role: Role::Duration,
            lengths: entry.lengths,
            self_nanos: entry.self_nanos,
            on_cpu_nanos: entry.on_cpu_nanos,
            sample: entry.sample.unwrap_or_default(),
            joined_nanos: entry.joined_nanos,
            inherited: entry.inherited,
        };
        let long = self.long_joined().into_iter();
        let long = long.map(|(key, nanos)| Entry { key, joined_nanos: nanos, ..Entry::default() });
        let entries = self.rows.into_iter().chain(long);
        // The values that share a row are not the same in another archive.
        let is_compared = |entry: &Entry| !self.is_sampled || !groups.is_other(entry.group());
        let entries = entries.filter(|entry| groups.selects(entry.group()) && is_compared(entry));
        let mut rows: Vec<Row> = entries.map(row).collect();
        sort_rows(&mut rows);
        rows
    }
}

/// Sorts rows by total time, the longest first.
pub(super) fn sort_rows(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let key = |row: &Row| (row.lengths.sum(), row.lengths.count());
        let names = || (&a.category, &a.name).cmp(&(&b.category, &b.name));
        key(b).cmp(&key(a)).then_with(names)
    });
}
