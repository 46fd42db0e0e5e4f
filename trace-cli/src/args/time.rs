//! Times of options.

use std::time::Duration;

use super::parse_duration;

/// Reads a time such as `50ms`, which has a unit: a number alone could be meant in milliseconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let has_value = text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    match has_value && text.bytes().all(is_number) {
        true => Err(format!("has no unit: use '{text}ms' or '{text}s'")),
        false => parse_duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse_time("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse_time("1m30s"), Ok(Duration::from_secs(90)));
        for number in ["5", "0.5", "10"] {
            let error = format!("has no unit: use '{number}ms' or '{number}s'");
            assert_eq!(parse_time(number), Err(error));
        }
        for wrong in ["", ".", "x", "-1s"] {
            assert!(parse_time(wrong).unwrap_err().starts_with("is not a time"), "{wrong}");
        }
        assert_eq!(parse_time("0"), Err("must be more than 0 s".to_owned()));
    }
}
