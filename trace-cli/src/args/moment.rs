//! Points in time of an archive.

use super::parse_duration;

/// A point in time of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nanoseconds since the first event.
    SinceStart(u64),
    /// Nanoseconds of the clock.
    Absolute(u64),
}

impl Moment {
    /// Returns its time in nanoseconds of the clock, for the time of the first event.
    pub(crate) fn nanos(self, start: u64) -> u64 {
        match self {
            Self::SinceStart(nanos) => start.saturating_add(nanos),
            Self::Absolute(nanos) => nanos,
        }
    }
}

/// Reads a moment such as `1.5s`, or `@123.45s` for a time of the clock.
pub(crate) fn parse_moment(text: &str) -> Result<Moment, String> {
    let (is_absolute, time) = match text.strip_prefix('@') {
        Some(time) => (true, time),
        None => (false, text),
    };
    let is_zero = !time.is_empty() && time.trim_end_matches("ns").trim_end_matches('s') == "0";
    let nanos = match is_zero {
        true => 0,
        false => {
            u64::try_from(parse_duration(time)?.as_nanos()).map_err(|_| "is more than 584 years")?
        }
    };
    Ok(if is_absolute { Moment::Absolute(nanos) } else { Moment::SinceStart(nanos) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_and_absolute_moments() {
        assert_eq!(parse_moment("1.5s"), Ok(Moment::SinceStart(1_500_000_000)));
        assert_eq!(parse_moment("@12.000000001s"), Ok(Moment::Absolute(12_000_000_001)));
        assert_eq!(parse_moment("0"), Ok(Moment::SinceStart(0)));
        assert_eq!(parse_moment("@0s"), Ok(Moment::Absolute(0)));
        for wrong in ["", "@", "s", "1x", "-1s"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }
}
