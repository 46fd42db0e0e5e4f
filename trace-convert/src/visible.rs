//! Untrusted text, escaped for display.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns an untrusted text for a terminal or a page: control characters, and characters that
/// change the direction of writing, become escapes such as `\u{1b}`.
///
/// All names in archives and of programs are untrusted.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain(text) || !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_hidden(character) {
            let _ = write!(shown, "{}", character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

/// Returns JSON with the characters that [`visible`] escapes as escapes of JSON, such as `\u009b`.
/// Its meaning does not change. Line breaks between values stay.
#[must_use]
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |character| character != '\n' && is_hidden(character);
    if is_plain(json) || !json.contains(is_escaped) {
        return json.into();
    }
    let mut shown = String::with_capacity(json.len() + 8);
    for character in json.chars() {
        if is_escaped(character) {
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

/// Returns whether a text has only printable characters of ASCII, in less time than a search takes.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |is_plain, byte| is_plain & (b' '..=b'~').contains(&byte))
}

fn is_hidden(character: char) -> bool {
    // XML forbids non-characters, too.
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::{visible, visible_json};

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("\x1b]0;title\x07"), r"\u{1b}]0;title\u{7}");
        assert_eq!(visible("two\nlines\r\t"), r"two\nlines\r\t");
        assert_eq!(visible("\u{9b}2J\u{7f}"), r"\u{9b}2J\u{7f}");
        assert_eq!(visible("a\u{202e}b\u{2066}c"), r"a\u{202e}b\u{2066}c");
        assert_eq!(visible("naïve \u{1f980} \"quoted\" \\"), "naïve \u{1f980} \"quoted\" \\");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value =
            serde_json::json!({ "a\u{9b}2J": ["\u{1b}", "\u{202e}\u{7f}", "é\n\u{1f980}"] });
        let json = serde_json::to_string_pretty(&value).unwrap();
        let shown = visible_json(&json);
        assert!(shown.contains(r"a\u009b2J") && shown.contains(r"\u202e\u007f"), "{shown}");
        assert_eq!(shown.lines().count(), json.lines().count());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
