//! Conditions on arguments of events.

use trace_analyze::arguments::Condition;

/// Reads `KEY=VALUE`.
pub(crate) fn parse_condition(text: &str) -> Result<Condition, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok(Condition::new(key, value)),
        _ => Err("use KEY=VALUE, such as path=/cart".to_owned()),
    }
}
