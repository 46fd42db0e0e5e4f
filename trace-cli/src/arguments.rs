//! Arguments of events as text.

use serde_json::Value;
use trace_analyze::arguments::is_operation_id;
use trace_convert::visible;

/// The most characters of a value in a table. A longer one would widen all rows.
const MAX_CHARACTERS: usize = 200;

/// Returns arguments as `name=value`, with the ids of operations in hexadecimal. Long values are
/// cut.
pub(crate) fn text(arguments: &[(String, Value)]) -> String {
    let argument = |(name, value): &(String, Value)| {
        format!("{}={}", visible(name), cut(value_text(name, value)))
    };
    arguments.iter().map(argument).collect::<Vec<_>>().join(" ")
}

/// Returns the first characters of a long text, and `…`.
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARACTERS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns the value of an argument as text.
pub(crate) fn value_text(name: &str, value: &Value) -> String {
    id(name, value).map_or_else(|| value.to_string(), |id| format!("{id:#x}"))
}

/// Returns the id of an operation in an argument.
fn id(name: &str, value: &Value) -> Option<u64> {
    let number = || value.as_u64().or_else(|| value.as_str()?.parse().ok());
    is_operation_id(name).then(number).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        let text_of = |length| text(&[("key".to_owned(), Value::from("ü".repeat(length)))]);
        // With a quote at the begin and the end.
        assert_eq!(text_of(198), format!("key=\"{}\"", "ü".repeat(198)));
        assert_eq!(text_of(199), format!("key=\"{}…", "ü".repeat(199)));
    }

    #[test]
    fn ids_have_one_notation() {
        assert_eq!(id("parent", &Value::from("5512034959929246740")), Some(0x4c7e_ae97_901e_0414));
        assert_eq!(id("task", &Value::from(42)), Some(42));
        assert_eq!(id("parent", &Value::from("nobody")), None);
        assert_eq!(id("key", &Value::from(42)), None);
    }
}
