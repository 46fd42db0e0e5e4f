//! Sizes such as `16M`.

/// Parses a number of bytes, 1 or more: digits, optionally followed by `K`, `M` or `G`
/// for powers of 1024, and by `B` or `iB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let expected = || "is not a number of bytes such as 65536, 64K, 16M or 1G".to_owned();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(expected());
    }
    let factor = factor(unit).ok_or_else(expected)?;
    let bytes = number.parse().ok().and_then(|number: u64| number.checked_mul(factor));
    match bytes {
        None => Err("is more than 2^64 bytes".to_owned()),
        Some(0) => Err("must be more than 0 bytes".to_owned()),
        Some(bytes) => Ok(bytes),
    }
}

/// Parses the name of a program and a size, as in `web:64M`.
pub(crate) fn parse_provider_size(text: &str) -> Result<(String, u64), String> {
    match text.rsplit_once(':') {
        Some((name, size)) if !name.is_empty() => Ok((name.to_owned(), parse_size(size)?)),
        _ => Err("is not the name of a program and a size, such as web:64M".to_owned()),
    }
}

fn factor(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let prefix = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b'));
    match prefix.unwrap_or(&unit) {
        "" if !unit.starts_with('i') => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1"), Ok(1));
        assert_eq!(parse_size("123457"), Ok(123_457));
        assert_eq!(parse_size("512B"), Ok(512));
        assert_eq!(parse_size("64K"), Ok(64 << 10));
        assert_eq!(parse_size("16M"), Ok(16 << 20));
        assert_eq!(parse_size("16mib"), Ok(16 << 20));
        assert_eq!(parse_size("1GB"), Ok(1 << 30));
        assert_eq!(parse_size("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn a_program_has_a_size() {
        assert_eq!(parse_provider_size("a:b:2K"), Ok(("a:b".to_owned(), 2048)));
        for wrong in ["", "2K", ":2K", "a:", "a:b"] {
            assert!(parse_provider_size(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn invalid_sizes_are_refused() {
        let wrong = ["", "M", "16X", "-1", "1.5M", "16 M", "1KK", "1iB", "\u{661}"];
        for text in wrong {
            assert!(parse_size(text).unwrap_err().starts_with("is not a number"), "{text}");
        }
        for text in ["18446744073709551616", "99999999999G"] {
            assert_eq!(parse_size(text), Err("is more than 2^64 bytes".to_owned()));
        }
        assert_eq!(parse_size("0K"), Err("must be more than 0 bytes".to_owned()));
    }
}
