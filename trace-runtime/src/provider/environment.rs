//! The environment, as far as it may choose anything.

use std::env;
use std::ffi::OsString;

use super::sys;

/// The value of a variable, if it is set and not empty.
///
/// A program with more privileges than its caller (set-user-ID and the like) has none: its caller
/// has set them, and would choose the files that it writes.
pub(super) fn variable(name: &str) -> Option<OsString> {
    if sys::is_privileged() {
        return None;
    }
    env::var_os(name).filter(|value| !value.is_empty())
}
