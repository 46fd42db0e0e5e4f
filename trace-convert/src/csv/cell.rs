//! Cells.

use std::borrow::Cow;

use memchr::{memchr2, memchr_iter};

use crate::visible;

/// Returns a text as a cell of comma-separated values (RFC 4180).
///
/// Control characters are escaped. A text that a spreadsheet would evaluate as a formula is
/// prefixed with an apostrophe.
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let shown = visible(text);
    let is_quoted = memchr2(b'"', b',', shown.as_bytes()).is_some();
    let apostrophe = if is_formula(&shown) { "'" } else { "" };
    match is_quoted {
        true => quoted(apostrophe, &shown).into(),
        false if apostrophe.is_empty() => shown,
        false => format!("{apostrophe}{shown}").into(),
    }
}

/// Returns a text in quotes, with each of its own twice.
fn quoted(before: &str, text: &str) -> String {
    let mut cell = String::with_capacity(text.len() + text.len() / 4 + 2);
    cell.extend(["\"", before]);
    let mut from = 0;
    for quote in memchr_iter(b'"', text.as_bytes()) {
        cell.push_str(text.get(from..=quote).unwrap_or_default());
        from = quote;
    }
    cell.push_str(text.get(from..).unwrap_or_default());
    cell.push('"');
    cell
}

/// Returns whether a spreadsheet would evaluate a text that is not a number.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@']) && text.len() > 1 && text.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_never_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", r"two\nlines"),
            ("\x1b[2J,", r#""\u{1b}[2J,""#),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("@SUM(1,2)", "\"'@SUM(1,2)\""),
            ("+a", "'+a"),
            ("-a", "'-a"),
            ("-1.5", "-1.5"),
            ("+7e3", "+7e3"),
            ("-", "-"),
            ("", ""),
        ] {
            assert_eq!(cell(text), expected, "{text:?}");
        }
    }
}
