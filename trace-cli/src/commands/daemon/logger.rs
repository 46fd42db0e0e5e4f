//! The daemon's log: lines on standard error, or in the journal.

use std::env;
use std::io::{self, Write};

use log::{Level, LevelFilter, Log, Metadata, Record};
use trace_convert::visible;

/// Writes messages to standard error. For the journal, each begins with its priority: see
/// sd-daemon(3).
struct Logger {
    is_journal: bool,
}

/// Installs the logger. `TRACE_LOG` has the level; default `info`.
pub(super) fn install() {
    let logger = Logger { is_journal: env::var_os("JOURNAL_STREAM").is_some() };
    let level = env::var("TRACE_LOG").ok().and_then(|level| level.parse().ok());
    log::set_max_level(level.unwrap_or(LevelFilter::Info));
    // Fails if there is a logger already.
    let _ = log::set_boxed_logger(Box::new(logger));
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        match self.is_journal {
            true => {
                let line = format!("<{}>{}\n", priority(record.level()), visible(&text));
                // The journal may have closed its end.
                let _ = io::stderr().write_all(line.as_bytes());
            }
            false => crate::say(&text),
        }
    }

    fn flush(&self) {}
}

fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}
