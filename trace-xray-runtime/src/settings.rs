//! The environment.

use std::env;

use crate::selection::Selection;
use crate::sys;

/// The variable that has the patterns of functions; `*` for all. If it is missing or empty, the
/// library does nothing.
const FUNCTIONS: &str = "TRACE_XRAY";

/// The variable that has the number of seccomp filters of the process that records. A program with
/// more of them is not recorded. If it is missing, it is 0.
const FILTERS: &str = "TRACE_XRAY_FILTERS";

/// The settings of the environment.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The functions to record.
    pub(crate) selection: Selection,
    /// The number of seccomp filters of the process that records.
    pub(crate) filters: u64,
}

/// Returns the settings. `None` if there are none, or if the program has more privileges than its
/// caller (`AT_SECURE`), who must not choose what it executes.
pub(crate) fn settings() -> Option<Settings> {
    if sys::is_privileged() {
        return None;
    }
    let list = env::var_os(FUNCTIONS).filter(|list| !list.is_empty())?;
    let filters = env::var(FILTERS).ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    Some(Settings { selection: Selection::parse(&list.to_string_lossy()), filters })
}
