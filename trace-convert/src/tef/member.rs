//! Members of a document as they are carried.

use super::scan::{Scanner, Stop};
use super::value::Text;

/// Tells whether all of `text` is one member of a document, key and value, that
/// is not its events.
pub(crate) fn is_member(text: &str) -> bool {
    let mut scanner = Scanner::whole(text);
    let Ok((key, is_escaped)) = scanner.key() else {
        return false;
    };
    u32::try_from(text.len()).is_ok()
        && Text::new(key.of(text), is_escaped).to_str() != "traceEvents"
        && scanner.value().is_ok()
        && scanner.peek() == Err(Stop::More)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members() {
        for text in ["\"a\":1", " \"\" : {} "] {
            assert!(is_member(text), "{text}");
        }
        let others = ["", "5", "\"a\"", "\"a\":", "\"a\":1,\"b\":2", "\"trace\\u0045vents\":[]"];
        for text in others {
            assert!(!is_member(text), "{text}");
        }
    }
}
