//! With tracing compiled out the other logger gets the same messages.
#![cfg(feature = "ntrace")]

use std::sync::atomic::{AtomicUsize, Ordering};

static SEEN: AtomicUsize = AtomicUsize::new(0);

struct Own;

impl log::Log for Own {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &log::Record<'_>) {
        SEEN.fetch_add(1, Ordering::Relaxed);
    }

    fn flush(&self) {}
}

#[test]
fn the_other_logger_is_unaffected() {
    let _recording = trace_runtime::init();
    trace_log_bridge::Bridge::new().wrap(Own, log::LevelFilter::Info).init().unwrap();
    log::info!("logged");
    log::debug!("above the level");
    assert_eq!(SEEN.load(Ordering::Relaxed), 1);
    assert_eq!(log::max_level(), log::LevelFilter::Info);
}
