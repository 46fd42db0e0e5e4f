//! Values for spreadsheets.

use std::borrow::Cow;

/// Returns a text as a cell of comma-separated values, as RFC 4180 has it.
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}
