//! Counters.

use std::collections::BTreeMap;

use trace_format::{Event, Item};

use super::rows::{Row, RowKind, Series};
use trace_analyze::carried;
use trace_analyze::catalog::{Catalog, LabelId};

/// The maximum number of series of a counter. More would be illegible.
const MAX_SERIES: usize = 64;

/// The counters of all processes.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// By process, name and id.
    series: BTreeMap<(u64, LabelId, u64), Vec<Series>>,
    pub(super) not_drawn: NotDrawn,
}

/// The number of values that are not drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NotDrawn {
    /// Values that are not finite numbers.
    pub(super) not_finite: u64,
    /// Values of series beyond [`MAX_SERIES`].
    pub(super) beyond: u64,
}

impl Counters {
    pub(super) fn event(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
        key: (u64, LabelId, u64),
    ) {
        let counter = self.series.entry(key).or_default();
        for argument in &event.arguments {
            let name = catalog.text(item, argument.name);
            if carried::is_carried(catalog.string(name)) {
                continue;
            }
            let number = argument.value.number().filter(|number| number.is_finite());
            let Some(value) = number else {
                self.not_drawn.not_finite += 1;
                continue;
            };
            let sample = (item.nanos(event.ticks), value);
            if let Some(series) = counter.iter_mut().find(|series| series.name == name) {
                series.samples.push(sample);
            } else if counter.len() < MAX_SERIES {
                counter.push(Series { name, samples: vec![sample] });
            } else {
                self.not_drawn.beyond += 1;
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
        self.series.into_iter().map(row).collect()
    }
}
