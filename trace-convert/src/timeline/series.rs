//! Counters.

use std::collections::BTreeMap;

use trace_format::{Event, Item};

use super::rows::{Row, RowKind, Series};
use crate::catalog::{Catalog, LabelId};
use crate::tef::carried;

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
            let number = argument.value.number().filter(|number| number.is_finite());
            let Some(value) = number else { continue };
            let name = catalog.text(item, argument.name);
            if carried::is_carried(catalog.string(name)) {
                continue;
            }
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
