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
    if is_plain(&shown) {
        return shown;
    }
    let mut cell = String::with_capacity(shown.len() + shown.len() / 4 + 3);
    add_visible(&mut cell, &shown);
    cell.into()
}

/// Appends a text as a cell.
pub(super) fn add_cell(cell: &mut String, text: &str) {
    add_visible(cell, &visible(text));
}

/// Appends a text without control characters as a cell: in quotes, with each of its own twice, if
/// necessary.
pub(super) fn add_visible(cell: &mut String, text: &str) {
    let apostrophe = if is_formula(text) { "'" } else { "" };
    if !is_quoted(text) {
        return cell.extend([apostrophe, text]);
    }
    cell.extend(["\"", apostrophe]);
    let mut from = 0;
    for quote in memchr_iter(b'"', text.as_bytes()) {
        cell.push_str(text.get(from..=quote).unwrap_or_default());
        from = quote;
    }
    cell.push_str(text.get(from..).unwrap_or_default());
    cell.push('"');
}

fn is_plain(text: &str) -> bool {
    !is_quoted(text) && !is_formula(text)
}

fn is_quoted(text: &str) -> bool {
    memchr2(b'"', b',', text.as_bytes()).is_some()
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
