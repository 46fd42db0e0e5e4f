//! Texts of bounded length, with escapes.

use std::borrow::Cow;

/// The maximum length of a text, in bytes.
const MAX_BYTES: usize = 4096;

/// Returns `text` with escapes for invisible characters, and cut if it is too long.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let cut = trace_format::layout::cut_str(text, MAX_BYTES);
    let shown = crate::visible(cut);
    match cut.len() == text.len() {
        true => shown,
        false => format!("{shown}… ({} bytes)", text.len()).into(),
    }
}
