//! Variables of the environment.

use std::env;
use std::ffi::OsString;

use crate::sys;

/// Returns the value of a variable, if it is set and not empty.
///
/// Always `None` for a program with more privileges than its caller, such as a set-user-ID program:
/// the caller would choose the files that it writes.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if sys::is_privileged() {
        return None;
    }
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the parsed value of a variable. Adds a message if it is invalid.
pub fn parse_variable<T>(
    name: &str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
    messages: &mut Vec<String>,
) -> Option<T> {
    let value = variable(name)?;
    let parsed = value.to_str().and_then(parse);
    if parsed.is_none() {
        let value = value.to_string_lossy();
        messages.push(format!("{name}: expected {expected}, found '{value}'; it is ignored"));
    }
    parsed
}
