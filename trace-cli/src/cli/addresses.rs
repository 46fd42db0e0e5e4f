//! Numbers and addresses of `trace insn`.

/// Parses `0x401000..0x4013ff`.
pub(super) fn parse_addresses(text: &str) -> Result<(u64, u64), String> {
    let (start, end) = text.split_once("..").ok_or("the range has no end")?;
    match (parse_number(start)?, parse_number(end)?) {
        (start, end) if start <= end => Ok((start, end)),
        _ => Err("the range ends before it starts".into()),
    }
}

/// Parses a number, in hexadecimal after `0x`.
pub(super) fn parse_number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("{text} is not a number"))
}
