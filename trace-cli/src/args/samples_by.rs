//! Counters, and how often samples are taken.

use trace_kernel::live::{check_counter, check_sample_rate, LiveError, SampledCounter};

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
    let counter = SampledCounter::of_name(name).map_err(|error| with_remedy(&error))?;
    Ok(SamplesBy { counter, period })
}

/// Parses the name of a counter, or a pattern that matches some.
pub(crate) fn parse_counter(text: &str) -> Result<String, String> {
    check_counter(text).map_err(|error| with_remedy(&error))?;
    Ok(text.to_owned())
}

/// Parses a number of samples a second, which the kernel has to permit.
pub(crate) fn parse_sample_rate(text: &str) -> Result<u32, String> {
    let rate = text.parse().ok().filter(|rate| *rate != 0);
    let rate = rate.ok_or_else(|| format!("'{text}' is not a number of samples a second"))?;
    check_sample_rate(u64::from(rate)).map_err(|error| with_remedy(&error))?;
    Ok(rate)
}

fn with_remedy(error: &LiveError) -> String {
    let remedy = error.remedy().map(|remedy| format!("; {remedy}"));
    format!("{error}{}", remedy.unwrap_or_default())
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

    #[test]
    fn names_of_counters_and_patterns() {
        for known in ["page-faults", "ref-cycles", "cache-*", "*"] {
            assert_eq!(parse_counter(known), Ok(known.to_owned()));
        }
        for unknown in ["faults", "x*", "", "page-faults:1", "-page-faults"] {
            let error = parse_counter(unknown).unwrap_err();
            let expected = format!("there is no counter {unknown}; the counters are task-clock, ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn rates_of_samples() {
        assert_eq!(parse_sample_rate("1"), Ok(1));
        for wrong in ["", "0", "-1", "1.5", "4294967296"] {
            let error = parse_sample_rate(wrong).unwrap_err();
            assert!(error.contains("is not a number of samples a second"), "{error}");
        }
    }
}
