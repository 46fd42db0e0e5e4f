//! Durations such as `1.5s`.

use std::time::Duration;

/// Parses a duration of more than 0: numbers with optional decimals, each followed by `ns`, `us`,
/// `ms`, `s`, `m` or `h`, as in `1.5s` and `1m30s`. A number alone is in seconds. Fractions of a
/// nanosecond are discarded.
///
/// # Errors
///
/// The reason, as the end of a sentence about the text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || "is not a time such as 10s, 1.5s, 200ms or 2m".to_owned();
    let mut nanos: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (part, behind) = next_part(rest).ok_or_else(expected)?;
        let is_alone = rest.len() == text.len() && behind.is_empty();
        let unit = unit_nanos(part.unit, is_alone).ok_or_else(expected)?;
        let part = part.nanos(unit).and_then(|part| nanos.checked_add(part));
        nanos = part.ok_or("is more than 584 years")?;
        rest = behind;
    }
    match nanos {
        0 if text.is_empty() => Err(expected()),
        0 => Err("must be more than 0 s".to_owned()),
        _ => Ok(Duration::from_nanos(nanos)),
    }
}

/// A number with its unit.
struct Part<'a> {
    whole: &'a str,
    decimals: &'a str,
    unit: &'a str,
}

/// Splits off the first number with its unit.
fn next_part(text: &str) -> Option<(Part<'_>, &str)> {
    let (whole, rest) = split(text, |byte| byte.is_ascii_digit());
    let (decimals, rest) = match rest.strip_prefix('.') {
        Some(rest) => split(rest, |byte| byte.is_ascii_digit()),
        None => ("", rest),
    };
    let has_point = text.as_bytes().get(whole.len()) == Some(&b'.');
    if whole.is_empty() || (has_point && decimals.is_empty()) {
        return None;
    }
    let (unit, rest) = split(rest, |byte| byte.is_ascii_alphabetic());
    Some((Part { whole, decimals, unit }, rest))
}

/// Splits after the leading ASCII characters for which `belongs` is true.
fn split(text: &str, belongs: impl Fn(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().take_while(|byte| byte.is_ascii() && belongs(*byte)).count())
}

fn unit_nanos(unit: &str, is_alone: bool) -> Option<u64> {
    match unit {
        "ns" => Some(1),
        "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" | "min" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        "" if is_alone => Some(1_000_000_000),
        _ => None,
    }
}

impl Part<'_> {
    fn nanos(&self, unit: u64) -> Option<u64> {
        let whole = self.whole.parse::<u64>().ok()?.checked_mul(unit)?;
        whole.checked_add(self.decimal_nanos(unit))
    }

    fn decimal_nanos(&self, unit: u64) -> u64 {
        // An hour has 3.6e12 ns: further decimals are below a nanosecond.
        let decimals = self.decimals.get(..18).unwrap_or(self.decimals);
        let number: u128 = decimals.parse().unwrap_or(0);
        let scale = 10_u128.pow(decimals.len() as u32);
        (number * u128::from(unit) / scale) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_durations() {
        let nanos = |text| parse_duration(text).unwrap().as_nanos();
        assert_eq!(nanos("10s"), 10_000_000_000);
        assert_eq!(nanos("10"), 10_000_000_000);
        assert_eq!(nanos("0.25"), 250_000_000);
        assert_eq!(nanos("1.5s"), 1_500_000_000);
        assert_eq!(nanos("200ms"), 200_000_000);
        assert_eq!(nanos("1.0015ms"), 1_001_500);
        assert_eq!(nanos("3us"), 3_000);
        assert_eq!(nanos("7ns"), 7);
        assert_eq!(nanos("2m"), 120_000_000_000);
        assert_eq!(nanos("1m30.5s"), 90_500_000_000);
        assert_eq!(nanos("0.5h"), 1_800_000_000_000);
        assert_eq!(nanos("0.9999999999999999999999999s"), 999_999_999);
    }

    #[test]
    fn invalid_durations_are_refused() {
        let wrong = ["", "s", "1.s", ".5s", "1x", "-1s", "1 s", "1s5", "1..5s", "1e3s", "1\u{b5}s"];
        for text in wrong {
            assert!(parse_duration(text).unwrap_err().starts_with("is not a time"), "{text}");
        }
        for text in ["0s", "0.0", "0.1ns"] {
            assert_eq!(parse_duration(text), Err("must be more than 0 s".to_owned()));
        }
        for text in ["99999999999999999999s", "18446744073s999999999999999ms", "9999999h"] {
            assert_eq!(parse_duration(text), Err("is more than 584 years".to_owned()));
        }
    }
}
