//! Parts of the text of triggers.

use std::time::Duration;

use super::parse_duration;

/// Returns the error for a part of a trigger that is no action.
pub(super) fn no_action(text: &str) -> String {
    format!(
        "'{text}' is not an action: snapshot, stop, exit, exit=STATUS, status=STATUS, \
         run:COMMAND, keep=N or min-interval=TIME"
    )
}

/// Returns the text, which has no colon. A colon separates actions.
pub(super) fn without_rest(text: &str) -> Result<&str, String> {
    match text.split_once(':') {
        Some((_, rest)) => Err(no_action(rest)),
        None => Ok(text),
    }
}

/// Parses a time of a condition, which has a unit: a number alone could be meant in milliseconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if !text.is_empty() && text.bytes().all(is_number) {
        return Err(format!("'{text}' has no unit: use '{text}ms' or '{text}s'"));
    }
    parse_duration(text).map_err(|error| format!("'{text}' {error}"))
}

/// Returns the text of a time, which [`parse_duration`] accepts.
pub(super) fn text_of(time: Duration) -> String {
    format!("{time:?}").replace('µ', "u")
}
