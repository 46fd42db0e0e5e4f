//! The values of counters.

use std::collections::HashMap;

use trace_format::{Event, Item};

use super::groups::Groups;
use super::Group;
use crate::carried;
use crate::catalog::{Catalog, LabelId};

/// A series of a counter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CounterRow {
    /// The category.
    pub category: String,
    /// The counter's name.
    pub name: String,
    /// The counter's id, which separates counters of one name.
    pub id: u64,
    /// The series.
    pub series: String,
    /// The process, or `None` with [`Grouping::Together`](super::Grouping::Together).
    pub group: Option<Group>,
    /// The number of values.
    pub count: u64,
    /// The earliest value.
    pub first: f64,
    /// The latest value.
    pub last: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The mean of the values, not weighted by time.
    pub mean: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    group: u32,
    label: LabelId,
    id: u64,
    series: u32,
}

#[derive(Debug, Clone, Copy)]
struct Series {
    count: u64,
    /// The earliest and the latest value, with their times. The archive may have them in any order.
    first: (u64, f64),
    last: (u64, f64),
    min: f64,
    max: f64,
    sum: f64,
}

/// The values of counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    series: HashMap<Key, Series>,
    /// The number of values that are not numbers.
    pub(super) left_out: u64,
}

impl Counters {
    pub(super) fn event<'a>(
        &mut self,
        catalog: &mut Catalog,
        group: u32,
        item: &Item<'a>,
        event: &Event<'a>,
        id: u64,
    ) {
        let label = catalog.label(item, event.category, event.name);
        let nanos = item.nanos(event.ticks);
        for argument in &event.arguments {
            let series = catalog.text(item, argument.name);
            if carried::is_carried(catalog.string(series)) {
                continue;
            }
            match argument.value.number().filter(|number| !number.is_nan()) {
                Some(value) => self.add(Key { group, label, id, series }, nanos, value),
                None => self.left_out += 1,
            }
        }
    }

    fn add(&mut self, key: Key, nanos: u64, value: f64) {
        let at = (nanos, value);
        let new = Series { count: 0, first: at, last: at, min: value, max: value, sum: 0.0 };
        let series = self.series.entry(key).or_insert(new);
        series.count += 1;
        if nanos < series.first.0 {
            series.first = at;
        }
        if nanos >= series.last.0 {
            series.last = at;
        }
        series.min = series.min.min(value);
        series.max = series.max.max(value);
        series.sum += value;
    }

    /// Returns all series, sorted by their names.
    pub(super) fn into_rows(self, groups: &Groups<'_>, catalog: &Catalog) -> Vec<CounterRow> {
        let group = groups.names(catalog);
        let row = |(key, series): (Key, Series)| CounterRow {
            category: catalog.category(key.label).to_owned(),
            name: catalog.name(key.label).to_owned(),
            id: key.id,
            series: catalog.string(key.series).to_owned(),
            group: group(key.group),
            count: series.count,
            first: series.first.1,
            last: series.last.1,
            min: series.min,
            max: series.max,
            mean: series.sum / series.count as f64,
        };
        let mut rows: Vec<CounterRow> = self.series.into_iter().map(row).collect();
        rows.sort_by_cached_key(|row| {
            let koids = row.group.as_ref().map(|group| group.koids);
            (row.category.clone(), row.name.clone(), row.id, row.series.clone(), koids)
        });
        rows
    }
}
