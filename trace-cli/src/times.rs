//! Times of an archive in messages.

use std::path::Path;
use std::time::Duration;

use anyhow::{bail, Result};
use trace_analyze::extent::Extent;

use crate::args::Span;
use crate::message::HINT;
use crate::table::human_nanos;

/// Returns a time as `trace dump` prints it.
pub(crate) fn seconds(nanos: u64) -> String {
    format!("{}.{:09}s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// The time from which others are counted in a table: that of the first event, or 0 for the clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin(pub(crate) u64);

impl Origin {
    pub(crate) fn text(self, nanos: u64) -> String {
        match nanos.checked_sub(self.0) {
            Some(since) => seconds(since),
            None => format!("-{}", seconds(self.0 - nanos)),
        }
    }
}

/// Returns the times of the first and the last event.
pub(crate) fn span(extent: &Extent) -> Span {
    let start = extent.start.unwrap_or(0);
    Span { start, end: extent.end.unwrap_or(start) }
}

/// Returns a time of an option with its unit, such as `1.5 s`.
pub(crate) fn length(time: Duration) -> String {
    let text = format!("{time:?}");
    let number = text.trim_end_matches(char::is_alphabetic).len();
    let (number, unit) = text.split_at(number);
    format!("{number} {unit}")
}

/// Fails if a range of times has no part of the trace at `path`.
pub(crate) fn refuse_outside(
    path: &Path,
    extent: &Extent,
    (from, to): (u64, Option<u64>),
) -> Result<()> {
    let Some((first, last)) = extent.records else { return Ok(()) };
    if from <= last && to.is_none_or(|to| to > first) {
        return Ok(());
    }
    let start = extent.start.unwrap_or(first);
    let option = format!("{}: the range", path.display());
    bail!(outside(&option, from, (start, extent.end.unwrap_or(last))))
}

/// Returns the message that the time `at` of an option is outside of the trace, from `start` to
/// `end`.
pub(crate) fn outside(option: &str, at: u64, (start, end): (u64, u64)) -> String {
    let (from, length) = (seconds(start), human_nanos(end.saturating_sub(start)));
    // A time of the clock, as tables have it, was taken for one since the first event.
    let meant = at.checked_sub(start).filter(|at| (start..=end).contains(at));
    let meant = meant.map(|at| format!("{HINT}times of the clock begin with @: @{}", seconds(at)));
    format!(
        "{option} is outside of the trace{HINT}the first event is at @{from}, and the trace is \
         {length} long{}",
        meant.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_an_origin() {
        let origin = Origin(2_000_000_000);
        assert_eq!(
            (&*origin.text(3_500_000_000), &*origin.text(2_000_000_000)),
            ("1.500000000s", "0.000000000s")
        );
        assert_eq!(origin.text(1_999_999_999), "-0.000000001s");
        assert_eq!(Origin::default().text(5), "0.000000005s");
    }

    #[test]
    fn a_time_without_its_sign_is_recognized() {
        let message = outside("--at", 5_500_000_000, (2_000_000_000, 4_000_000_000));
        assert!(message.ends_with("\nhint: times of the clock begin with @: @3.500000000s"));
        let message = outside("--at", 7_000_000_000, (2_000_000_000, 4_000_000_000));
        assert!(message.ends_with("and the trace is 2.000s long"), "{message}");
    }

    #[test]
    fn lengths_have_a_unit() {
        for (time, text) in [
            (Duration::from_secs(5), "5 s"),
            (Duration::from_millis(1500), "1.5 s"),
            (Duration::from_millis(50), "50 ms"),
            (Duration::from_micros(2), "2 µs"),
            (Duration::from_nanos(7), "7 ns"),
        ] {
            assert_eq!(length(time), text);
        }
    }
}
