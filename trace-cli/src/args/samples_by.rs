//! The counter whose events decide when samples are taken.

use trace_kernel::live::SampledCounter;

/// A counter, and the number of its events between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SamplesBy {
    pub(crate) counter: SampledCounter,
    /// `None` for as many samples a second as another option sets.
    pub(crate) period: Option<u64>,
}

/// The kernel's limit.
const MAX_PERIOD: u64 = i64::MAX as u64;

/// Parses `COUNTER` or `COUNTER:N`.
pub(crate) fn parse_samples_by(text: &str) -> Result<SamplesBy, String> {
    let (name, period) = match text.split_once(':') {
        Some((name, period)) => (name, Some(parse_period(period)?)),
        None => (text, None),
    };
    let counter = SampledCounter::of_name(name).map_err(|error| {
        let remedy = error.remedy().map(|remedy| format!("; {remedy}"));
        format!("{error}{}", remedy.unwrap_or_default())
    })?;
    Ok(SamplesBy { counter, period })
}

fn parse_period(text: &str) -> Result<u64, String> {
    let period = text.parse().ok().filter(|period| (1..=MAX_PERIOD).contains(period));
    period.ok_or_else(|| format!("'{text}' is not a number of events from 1 to {MAX_PERIOD}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_periods() {
        let parsed = |text| parse_samples_by(text).map(|it| (it.counter.name(), it.period));
        assert_eq!(parsed("page-faults:100"), Ok(("page-faults", Some(100))));
        assert_eq!(parsed("cycles"), Ok(("cycles", None)));
        for wrong in ["", ":1", "page-faults:", "page-faults:0", "cycles:9223372036854775808"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        let unknown = parsed("faults:1").unwrap_err();
        assert!(unknown.starts_with("there is no counter faults; the counters are "), "{unknown}");
    }
}
