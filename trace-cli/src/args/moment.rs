//! Points in time of an archive.

use super::parse_time;

/// The share of all the time.
const WHOLE: u32 = 1_000_000;

/// A point in time of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nanoseconds since the first event.
    SinceStart(u64),
    /// Nanoseconds of the clock.
    Absolute(u64),
    /// Millionths of the time from the first to the last event.
    Share(u32),
}

/// The times of the first and the last event, in nanoseconds. Those of an empty archive are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Moment {
    /// All the time: the end of the archive, with its last event.
    pub(crate) const END: Self = Self::Share(WHOLE);

    /// Returns whether it is the begin of the archive.
    pub(crate) fn is_start(self) -> bool {
        matches!(self, Self::SinceStart(0) | Self::Share(0))
    }

    /// Returns its time in nanoseconds of the clock.
    pub(crate) fn nanos(self, span: Span) -> u64 {
        match self {
            Self::SinceStart(nanos) => span.start.saturating_add(nanos),
            Self::Absolute(nanos) => nanos,
            Self::Share(millionths) => {
                let length = u128::from(span.end.saturating_sub(span.start));
                let since = length * u128::from(millionths) / u128::from(WHOLE);
                span.start.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Reads a moment such as `1.5s`, `60%` for a part of the archive's time, or `@123.45s` for a time
/// of the clock, also with a distance such as `@123.45s+5ms`.
pub(crate) fn parse_moment(text: &str) -> Result<Moment, String> {
    if let Some(percent) = text.strip_suffix('%') {
        return parse_percent(percent);
    }
    match text.strip_prefix('@') {
        Some(time) => parse_absolute(time).map(Moment::Absolute),
        None => parse_nanos(text).map(Moment::SinceStart),
    }
}

/// Reads a time of the clock, without its `@`.
fn parse_absolute(text: &str) -> Result<u64, String> {
    let Some(sign) = text.find(['+', '-']) else { return parse_point(text) };
    let (point, distance) = text.split_at(sign);
    let distance = parse_nanos(distance.get(1..).unwrap_or_default());
    let (point, distance) = (parse_point(point)?, distance?);
    let sum = match text.get(sign..=sign) {
        Some("+") => point.checked_add(distance),
        _ => point.checked_sub(distance),
    };
    sum.ok_or_else(|| "is no time of a clock".to_owned())
}

/// Reads a time of the clock. Those that are printed are in seconds.
fn parse_point(text: &str) -> Result<u64, String> {
    let has_no_unit = |message: &str| message.starts_with("has no unit");
    parse_nanos(text).map_err(|message| match has_no_unit(&message) {
        true => format!("has no unit: use '@{text}s'"),
        false => message,
    })
}

fn parse_nanos(text: &str) -> Result<u64, String> {
    let is_zero = !text.is_empty() && text.trim_end_matches("ns").trim_end_matches('s') == "0";
    match is_zero {
        true => Ok(0),
        false => u64::try_from(parse_time(text)?.as_nanos())
            .map_err(|_| "is more than 584 years".to_owned()),
    }
}

fn parse_percent(text: &str) -> Result<Moment, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percent = text.parse::<f64>().ok().filter(|percent| is_plain && *percent <= 100.0);
    let percent = percent.ok_or("is not a percentage from 0% to 100%, such as 60%")?;
    Ok(Moment::Share((percent / 100.0 * f64::from(WHOLE)).round() as u32))
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
        for wrong in ["", "@", "s", "1x", "-1s", "5", "@5", "0.5", "1s+1s", "@1s+", "@+1s"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_moment("@12.5"), Err("has no unit: use '@12.5s'".to_owned()));
    }

    #[test]
    fn moments_near_a_time_of_the_clock() {
        assert_eq!(parse_moment("@12.5s+5ms"), Ok(Moment::Absolute(12_505_000_000)));
        assert_eq!(parse_moment("@12.5s-500ms"), Ok(Moment::Absolute(12_000_000_000)));
        assert_eq!(parse_moment("@1s+0s"), Ok(Moment::Absolute(1_000_000_000)));
        for wrong in ["@1s-2s", "@500y+500y", "@1s+2", "@1s+1ms+1ms"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_of_the_time() {
        assert_eq!(parse_moment("60%"), Ok(Moment::Share(600_000)));
        assert_eq!(parse_moment("0%"), Ok(Moment::Share(0)));
        assert_eq!(parse_moment("33.3333%"), Ok(Moment::Share(333_333)));
        let span = Span { start: 1000, end: 3000 };
        let nanos = |text| parse_moment(text).unwrap().nanos(span);
        assert_eq!((nanos("0%"), nanos("60%"), nanos("100%")), (1000, 2200, 3000));
        assert_eq!((nanos("5ns"), nanos("@5ns")), (1005, 5));
        for wrong in ["%", "-1%", "101%", "1e1%", "inf%", "@5%", "5s%"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }
}
