//! The messages of Ballista on standard error.

use log::{LevelFilter, Log, Metadata, Record};

use crate::message::say;

struct Messages;

impl Log for Messages {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ballista")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            say(&record.args().to_string());
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
