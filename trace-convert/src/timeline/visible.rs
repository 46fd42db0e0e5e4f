//! Texts that show what is in them.

use std::borrow::Cow;

/// The most bytes of a text that are shown.
const MAX_BYTES: usize = 4096;

/// Returns `text` with escapes in place of what would not show, and cut if it is very long.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let cut = trace_format::layout::cut_str(text, MAX_BYTES);
    let shown = crate::visible(cut);
    match cut.len() == text.len() {
        true => shown,
        false => format!("{shown}… ({} bytes)", text.len()).into(),
    }
}
