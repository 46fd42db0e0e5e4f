//! Members of a document that an archive carries.

use super::scan::{Scanner, Stop};
use super::value::Text;

/// Returns whether `text` is one member of a document, key and value, other than its events.
pub(crate) fn is_member(text: &str) -> bool {
    let mut scanner = Scanner::complete(text);
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
