//! Levels of log messages.

use clap::ValueEnum;

/// The level of an event or a log message, the most severe one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    /// Returns the level with this name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }
}
