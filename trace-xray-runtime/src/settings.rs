//! The environment.

use std::env;

use crate::selection::Selection;
use crate::sys;

/// The variable that has the patterns of functions; `*` for all. If it is missing or empty, the
/// library does nothing.
const FUNCTIONS: &str = "TRACE_XRAY";

/// Returns the functions to record. `None` if there is no such setting, or if the program has more
/// privileges than its caller (`AT_SECURE`), who must not choose what it executes.
pub(crate) fn selection() -> Option<Selection> {
    if sys::is_privileged() {
        return None;
    }
    let list = env::var_os(FUNCTIONS).filter(|list| !list.is_empty())?;
    Some(Selection::parse(&list.to_string_lossy()))
}
