//! Ids of operations and flows.

/// Reads an id, decimal or with `0x` as `trace dump` prints it.
pub(crate) fn parse_id(text: &str) -> Result<u64, String> {
    let id = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    id.map_err(|_| format!("'{text}' is not an id such as 42 or 0x2a"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_hexadecimal_ids() {
        assert_eq!((parse_id("42"), parse_id("0x2a")), (Ok(42), Ok(42)));
        assert!(parse_id("2a").is_err() && parse_id("0x").is_err());
    }
}
