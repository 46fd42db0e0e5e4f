//! `log::max_level()`, where the records of `log` come to `tracing`: raised to what `tracing` wants
//! while something is recorded.
//!
//! `tracing-subscriber` sets it once, to what the other layers want. It belongs to the logger,
//! which may leave it to that level to decide what it says. So it is raised only where the logger
//! is seen to ask this crate, as that of `tracing-log` does, which asks all layers.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use tracing_core::{LevelFilter, Metadata};

/// The target of a record that is never said.
const PROBE: &str = "trace_tracing::probe";

/// What the application wanted, and what the level was raised to.
static RAISED: Mutex<Option<(log::LevelFilter, log::LevelFilter)>> = Mutex::new(None);

thread_local! {
    /// Whether the thread's question came here.
    static PROBED: Cell<bool> = const { Cell::new(false) };
}

/// Raises the level to that of `tracing`, which knows of the recording already.
pub(crate) fn raise() {
    let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    let (from, to) = (log::max_level(), level_of_tracing());
    if from < to && to.to_level().is_some_and(comes_here) {
        *raised = Some((from, to));
        log::set_max_level(to);
    }
}

/// Sets the level back, unless the application has set it meanwhile.
pub(crate) fn set_back() {
    let mut raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((from, _)) = raised.take().filter(|(_, to)| *to == log::max_level()) {
        log::set_max_level(from);
    }
}

/// Whether the logger asks this crate whether a record of this level is wanted.
fn comes_here(level: log::Level) -> bool {
    let record = log::Metadata::builder().level(level).target(PROBE).build();
    PROBED.set(false);
    let _wanted = log::logger().enabled(&record);
    PROBED.take()
}

/// Somebody asks whether this is wanted, which is not from a callsite.
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
