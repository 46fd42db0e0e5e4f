//! Programs that meet the conditions of triggers.

use std::thread::sleep;
use std::time::Duration;

use trace_runtime::{
    raise_alert, trace_async_begin, trace_async_end, trace_async_enter, trace_counter,
    trace_duration, trace_instant, trace_log, trace_nonce,
};

/// Traces, meets the condition `kind`, waits for `milliseconds`, and traces again.
pub(crate) fn meet(kind: &str, milliseconds: u64) {
    let _trace = crate::init();
    for number in 0..50_u64 {
        trace_duration!("web", "other");
        trace_instant!("web", "before", "number" => number);
    }
    trace_counter!("app", "queue", 1, "depth" => 3);
    plant(kind, Duration::from_millis(60));
    sleep(Duration::from_millis(milliseconds));
    trace_instant!("web", "after");
}

fn plant(kind: &str, time: Duration) {
    match kind {
        "scope" => {
            trace_duration!("web", "request");
            sleep(time);
        }
        "operation" => {
            let _operation = trace_async_enter!("web", "request", trace_nonce!());
            sleep(time);
        }
        "operations without an end" => {
            for _ in 0..5000 {
                trace_async_begin!("web", "separate", trace_nonce!());
            }
            let id = trace_nonce!();
            trace_async_begin!("web", "separate", id);
            sleep(time);
            trace_async_end!("web", "separate", id);
        }
        "counter" => trace_counter!("app", "queue", 1, "depth" => 200),
        "log" => trace_log!("app", "ERROR app: planted"),
        "panic" => panic!("planted"),
        "abort" => std::process::abort(),
        "nothing" => {}
        alert if alert.starts_with("alert:") => drop(raise_alert(&alert["alert:".len()..])),
        other => panic!("unknown condition {other:?}"),
    }
}
