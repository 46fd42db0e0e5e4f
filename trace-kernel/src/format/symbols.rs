//! The names of numbers in a `print fmt` line.

/// Returns the pairs `{ NUMBER, "NAME" }` of a line, in their order: the arguments of
/// `__print_symbolic` and `__print_flags`.
pub(super) fn symbols(print: &str) -> Vec<(u64, Box<str>)> {
    print.split('{').skip(1).filter_map(pair).collect()
}

fn pair(text: &str) -> Option<(u64, Box<str>)> {
    let (inner, _) = text.split_once('}')?;
    let (value, name) = inner.split_once(',')?;
    let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some((number(value.trim())?, name.into()))
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        let print = r#"print fmt: "{%s}", __print_flags(REC->x, "|", { 0x01, "S" }, { 2UL, "D" }), { A, "n" }, { 3 }, { 4, x }, {"#;
        assert_eq!(symbols(print), [(1, "S".into()), (2, "D".into())]);
    }
}
