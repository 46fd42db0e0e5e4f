//! The messages of Ballista on standard error.

use log::{LevelFilter, Log, Metadata, Record};

use crate::message::say;

/// What a scheduler reports of each stage, because executors send no metrics.
const NO_METRICS: &str = "The metrics for stage";

struct Messages;

impl Log for Messages {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ballista")
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        if self.enabled(record.metadata()) && !text.starts_with(NO_METRICS) {
            say(&text);
        }
    }

    fn flush(&self) {}
}

/// Prints warnings and errors, or with `is_verbose` also what a process does.
pub(super) fn start(is_verbose: bool) {
    let level = if is_verbose { LevelFilter::Info } else { LevelFilter::Warn };
    if log::set_logger(&Messages).is_ok() {
        log::set_max_level(level);
    }
}
