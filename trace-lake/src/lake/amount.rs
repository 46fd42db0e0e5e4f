//! Times and sizes of the command line.

use std::time::Duration;

use datafusion::arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;

/// Reads a duration: a whole number and `s`, `m`, `h`, `d` or `w`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)];
    let seconds = number(text, &units).ok_or("a duration is a number with s, m, h, d or w")?;
    Ok(Duration::from_secs(seconds))
}

/// Reads a size: a whole number of bytes, or one with `K`, `M`, `G` or `T`, which are powers of
/// 1024.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let units = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40), ("", 1)];
    number(text, &units).ok_or_else(|| "a size is a number with K, M, G or T, or none".to_owned())
}

/// Reads a time as nanoseconds since 1970.
pub(super) fn time(text: &str) -> Result<i64, String> {
    string_to_timestamp_nanos(text).map_err(|_| {
        "a time is a date, or one as in 2026-11-29T10:00:00Z; without a zone it is UTC".to_owned()
    })
}

/// Returns a size for people.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (unit, scale) = units.iter().find(|(unit, _)| text.ends_with(unit))?;
    text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert!(["30", "d", "-1d", "1.5h", "99999999999999999w"]
            .iter()
            .all(|it| duration(it).is_err()));
        assert_eq!((bytes("7"), bytes("2K"), bytes("1T")), (Ok(7), Ok(2048), Ok(1 << 40)));
        assert!(bytes("1X").is_err());
        assert_eq!(time("1970-01-01T00:00:01Z"), Ok(1_000_000_000));
        assert_eq!(time("1970-01-02"), Ok(86_400_000_000_000));
        assert!(time("yesterday").is_err());
        assert_eq!(
            (size(12), size(1536), size(5 << 30)),
            ("12 B".into(), "1.5 KiB".into(), "5.0 GiB".into())
        );
    }
}
