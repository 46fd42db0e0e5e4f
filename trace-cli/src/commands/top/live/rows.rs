//! Sorted and filtered rows.

use std::cmp::Ordering;

use super::window::Window;

/// A scope as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    /// Ends in a second.
    pub(super) rate: f64,
    pub(super) mean: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
    /// The time in the scope, in a second, as a share of one processor.
    pub(super) load: f64,
}

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    #[default]
    Load,
    Rate,
    Mean,
    P99,
    Max,
    Name,
}

impl Order {
    pub(super) const ALL: [Self; 6] =
        [Self::Load, Self::Rate, Self::Mean, Self::P99, Self::Max, Self::Name];

    /// Returns the next order.
    pub(super) fn next(self) -> Self {
        let mut orders = Self::ALL.into_iter().cycle().skip_while(|order| *order != self);
        orders.nth(1).unwrap_or_default()
    }

    /// Returns the head of its column.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Load => "LOAD",
            Self::Rate => "RATE",
            Self::Mean => "MEAN",
            Self::P99 => "P99",
            Self::Max => "MAX",
            Self::Name => "NAME",
        }
    }

    /// Compares rows: the largest first, or by name.
    fn compare(self, a: &Row, b: &Row) -> Ordering {
        let values = match self {
            Self::Load => b.load.total_cmp(&a.load),
            Self::Rate => b.rate.total_cmp(&a.rate),
            Self::Mean => b.mean.cmp(&a.mean),
            Self::P99 => b.p99.cmp(&a.p99),
            Self::Max => b.max.cmp(&a.max),
            Self::Name => Ordering::Equal,
        };
        values.then_with(|| a.name.cmp(&b.name))
    }
}

/// Returns the rows of a window whose names contain `text`.
pub(super) fn rows(window: &Window, order: Order, text: &str) -> Vec<Row> {
    let seconds = window.seconds();
    let scopes = window.scopes().into_iter().filter(|scope| scope.name.contains(text));
    let mut rows: Vec<Row> = scopes
        .map(|scope| Row {
            rate: scope.durations.count() as f64 / seconds,
            mean: scope.durations.mean(),
            p99: scope.durations.quantile(0.99),
            max: scope.durations.max(),
            load: scope.durations.sum() as f64 / 1e9 / seconds,
            name: scope.name,
        })
        .collect();
    rows.sort_by(|a, b| order.compare(a, b));
    rows
}
