//! Limits of the parts of an archive, such as `64M` and `10m`.

use std::time::Duration;

use super::{parse_duration, parse_size};

/// A limit of a part of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartLimit {
    /// Its size in bytes.
    Size(u64),
    /// The time that it covers.
    Time(Duration),
}

/// Parses a size or a time. `m` is a minute, `M` are 1,048,576 bytes; a number alone are bytes.
pub(crate) fn parse_part_limit(text: &str) -> Result<PartLimit, String> {
    let has_time_unit = text.ends_with(['s', 'm', 'h']);
    match has_time_unit {
        true => parse_duration(text).map(PartLimit::Time),
        false => parse_size(text)
            .map(PartLimit::Size)
            .map_err(|_| "is neither a size such as 64M nor a time such as 10m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_decides() {
        let minutes = |number: u64| PartLimit::Time(Duration::from_secs(60 * number));
        for (text, limit) in [
            ("64M", PartLimit::Size(64 << 20)),
            ("64k", PartLimit::Size(64 << 10)),
            ("4096", PartLimit::Size(4096)),
            ("1GiB", PartLimit::Size(1 << 30)),
            ("10m", minutes(10)),
            ("1h", minutes(60)),
            ("90s", PartLimit::Time(Duration::from_secs(90))),
            ("200ms", PartLimit::Time(Duration::from_millis(200))),
        ] {
            assert_eq!(parse_part_limit(text), Ok(limit), "{text}");
        }
        for wrong in ["", "x", "0", "0s", "-1M", "10 m"] {
            assert!(parse_part_limit(wrong).is_err(), "{wrong}");
        }
    }
}
