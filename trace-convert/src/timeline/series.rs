//! Counters.

use std::collections::BTreeMap;

use trace_format::{Event, Item, Value};

use super::rows::{Row, RowKind, Series};
use crate::catalog::{Catalog, LabelId};

/// The most series of a counter; more would not be seen.
const MAX_SERIES: usize = 64;

/// The counters of all processes, by process, name and id.
#[derive(Debug, Default)]
pub(super) struct Counters(BTreeMap<(u64, LabelId, u64), Vec<Series>>);

impl Counters {
    pub(super) fn event(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
        key: (u64, LabelId, u64),
    ) {
        let counter = self.0.entry(key).or_default();
        for argument in &event.arguments {
            let Some(value) = number(argument.value) else { continue };
            let name = catalog.text(item, argument.name);
            let sample = (item.nanos(event.ticks), value);
            if let Some(series) = counter.iter_mut().find(|series| series.name == name) {
                series.samples.push(sample);
            } else if counter.len() < MAX_SERIES {
                counter.push(Series { name, samples: vec![sample] });
            }
        }
    }

    /// Returns a row for each counter, with its process.
    pub(super) fn rows(self, catalog: &Catalog) -> Vec<(u64, Row)> {
        let row = |((process, label, id), mut series): ((u64, LabelId, u64), Vec<Series>)| {
            series.iter_mut().for_each(|series| series.samples.sort_by_key(|(at, _)| *at));
            let name = match id {
                0 => catalog.name(label).to_owned(),
                id => format!("{} {id:#x}", catalog.name(label)),
            };
            (process, Row { kind: RowKind::Counter, name, series, ..Row::default() })
        };
        self.0.into_iter().map(row).collect()
    }
}

/// Returns a value that can be drawn.
fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int32(value) => Some(value.into()),
        Value::Uint32(value) => Some(value.into()),
        Value::Int64(value) => Some(value as f64),
        Value::Uint64(value) => Some(value as f64),
        Value::Double(value) => Some(value).filter(|value| value.is_finite()),
        _ => None,
    }
}
