//! Times of an archive in messages.

use trace_analyze::extent::Extent;

use crate::args::Span;
use crate::message::{say, HINT};
use crate::table::human_nanos;

/// Returns a time as `trace dump` prints it.
pub(crate) fn seconds(nanos: u64) -> String {
    format!("{}.{:09}s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Returns the times of the first and the last event.
pub(crate) fn span(extent: &Extent) -> Span {
    let start = extent.start.unwrap_or(0);
    Span { start, end: extent.end.unwrap_or(start) }
}

/// Reports that the time of an option is outside of the trace, from `start` to `end`.
pub(crate) fn report_outside(option: &str, (start, end): (u64, u64)) {
    let (from, length) = (seconds(start), human_nanos(end.saturating_sub(start)));
    say(&format!(
        "{option} is outside of the trace{HINT}the first event is at @{from}, and the trace is \
         {length} long"
    ));
}
