//! Programs whose trace points compare their durations.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use trace_runtime::context::{EventType, TracePoint};
use trace_runtime::{
    trace_duration, trace_duration_begin, trace_duration_end, trace_fn, trace_instant,
};

/// Longer than the limits of the tests.
const LONG: Duration = Duration::from_millis(60);

/// Traces, plants a long request of this kind, waits until the directory has a snapshot, and
/// traces again.
pub(crate) fn run(kind: &str, directory: &Path) {
    let _trace = crate::init();
    for number in 0..50_u64 {
        trace_instant!("web", "before", "number" => number);
    }
    match kind {
        "scope" => {
            trace_duration!("web", "request");
            sleep(LONG);
        }
        "arguments" => {
            trace_duration!("web", "request", "path" => "/index");
            sleep(LONG);
        }
        "attribute" => request(),
        "point" => {
            let point = TracePoint::new(EventType::DurationBegin, "web", "request", &[]);
            let _scope = point.begin(&[]);
            sleep(LONG);
        }
        "open" => {
            trace_duration!("web", "request");
            sleep(LONG);
            // The scope never ends.
            std::process::exit(0);
        }
        other => panic!("unknown kind {other:?}"),
    }
    let begun = Instant::now();
    while !has_snapshot(directory) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no snapshot");
        sleep(Duration::from_millis(5));
    }
    trace_instant!("web", "after");
}

#[trace_fn(category = "web", name = "request")]
fn request() {
    sleep(LONG);
}

fn has_snapshot(directory: &Path) -> bool {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter_map(|name| name.into_string().ok()).any(|name| name.starts_with("out-snapshot-"))
}

/// Runs as many scopes of two names, each of at least 2 ms, and begins and ends as many durations
/// of a third name.
pub(crate) fn requests(count: u64) {
    let _trace = crate::init();
    let long = Duration::from_millis(2);
    for _ in 0..count {
        {
            trace_duration!("web", "request");
            trace_duration!("web", "inner");
            sleep(long);
        }
        trace_duration_begin!("web", "pair");
        sleep(long);
        trace_duration_end!("web", "pair");
    }
}
