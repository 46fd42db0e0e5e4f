//! Times and other numbers of records for signed columns.

use trace_format::Item;

/// All times beyond 292 years.
pub(crate) const SATURATED: i64 = i64::MAX;

/// Returns a time of a record in nanoseconds.
pub(crate) fn nanos(item: &Item<'_>, ticks: u64) -> i64 {
    signed(item.nanos(ticks))
}

/// Returns a number for a signed column: times beyond 292 years are [`SATURATED`].
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(SATURATED)
}
