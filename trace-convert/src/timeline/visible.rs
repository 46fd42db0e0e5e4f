//! Texts that show what is in them.

use std::borrow::Cow;
use std::fmt::Write;

/// The most bytes of a text that are shown.
const MAX_BYTES: usize = 4096;

/// Returns `text` with escapes in place of control characters and those that
/// change the direction of writing, and cut if it is very long.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let cut = trace_format::layout::cut_str(text, MAX_BYTES);
    if cut.len() == text.len() && !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(cut.len() + 8);
    for character in cut.chars() {
        if is_hidden(character) {
            let _ = write!(shown, "{}", character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if cut.len() < text.len() {
        let _ = write!(shown, "… ({} bytes)", text.len());
    }
    shown.into()
}

fn is_hidden(character: char) -> bool {
    // Non-characters are no characters of XML either.
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
