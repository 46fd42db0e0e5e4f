//! The environment, as far as it may choose anything.

use std::env;
use std::ffi::OsString;

use crate::sys;

/// The value of a variable, if it is set and not empty.
///
/// A program with more privileges than its caller (set-user-ID and the like) has none: its caller
/// has set them, and would choose the files that it writes.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if sys::is_privileged() {
        return None;
    }
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The choice of a variable of the environment; a message if that cannot be understood.
pub fn chosen<T>(
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
