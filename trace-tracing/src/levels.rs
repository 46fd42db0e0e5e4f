//! `log::max_level()`, if `tracing` receives the records of `log`: raised to the level of `tracing`
//! during a recording.
//!
//! `tracing-subscriber` sets it once, to the level of the other layers. Other loggers may rely on
//! the level to filter their output. It is therefore raised only if the logger queries this crate,
//! as that of `tracing-log` does, which queries all layers.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use tracing_core::{LevelFilter, Metadata};

/// The target of a record that is never logged.
const PROBE: &str = "trace_tracing::probe";

/// The application's level, and the raised level.
static RAISED: Mutex<Option<(log::LevelFilter, log::LevelFilter)>> = Mutex::new(None);

thread_local! {
    /// Whether this crate received the thread's probe.
    static PROBED: Cell<bool> = const { Cell::new(false) };
}

/// Raises the level to that of `tracing`, which has already been notified of the recording.
pub(crate) fn raise() {
    let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    let (from, to) = (log::max_level(), level_of_tracing());
    if from < to && to.to_level().is_some_and(reaches_this_crate) {
        *raised = Some((from, to));
        log::set_max_level(to);
    }
}

/// Restores the level, unless the application has set it meanwhile.
pub(crate) fn restore() {
    let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((from, _)) = raised.take().filter(|(_, to)| *to == log::max_level()) {
        log::set_max_level(from);
    }
}

/// Returns whether the logger queries this crate for records of this level.
fn reaches_this_crate(level: log::Level) -> bool {
    let record = log::Metadata::builder().level(level).target(PROBE).build();
    PROBED.set(false);
    let _wanted = log::logger().enabled(&record);
    PROBED.take()
}

/// Notes a query for metadata without a callsite, if it is the probe.
pub(crate) fn note_probe(metadata: &Metadata<'_>) {
    if metadata.target() == PROBE {
        PROBED.set(true);
    }
}

fn level_of_tracing() -> log::LevelFilter {
    match LevelFilter::current() {
        LevelFilter::OFF => log::LevelFilter::Off,
        LevelFilter::ERROR => log::LevelFilter::Error,
        LevelFilter::WARN => log::LevelFilter::Warn,
        LevelFilter::INFO => log::LevelFilter::Info,
        LevelFilter::DEBUG => log::LevelFilter::Debug,
        LevelFilter::TRACE => log::LevelFilter::Trace,
    }
}
