//! Signal handlers that use `tracing` while they interrupt a record of `tracing`.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::fmt;
use std::sync::OnceLock;

use common::read;
use tracing::{info, info_span, Span};
use tracing_subscriber::prelude::*;

const ROUNDS: usize = 1000;

static SPAN: OnceLock<Span> = OnceLock::new();

extern "C" fn handler(_: i32) {
    let _entered = SPAN.get().map(Span::enter);
    info!(name: "handled", target: "signal", "in a handler");
}

/// A value that raises a signal when it is formatted, which happens during a record.
struct Raises;

impl fmt::Debug for Raises {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: raise takes a number, and the signal has a handler.
        unsafe { libc::raise(libc::SIGUSR1) };
        f.write_str("raised")
    }
}

/// The handler and the thread do not wait for each other, and the interrupted event is always
/// recorded.
#[test]
fn a_handler_does_not_wait_for_the_thread_that_it_interrupts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("signals.fxt");
    trace_tracing::subscriber().init();
    let trace = trace_runtime::builder().output(&path).init();
    SPAN.get_or_init(|| info_span!(target: "signal", "handling"));
    // SAFETY: the handler is a function of this program with the signature that the kernel calls.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    for _ in 0..ROUNDS {
        info!(name: "interrupted", target: "signal", value = ?Raises);
        // The signal arrives while a span's first values and its track are written.
        info_span!(target: "signal", "span", value = ?Raises).in_scope(|| {});
    }
    drop(trace);
    let (events, _) = read(&path);
    let count = |name: &str| events.iter().filter(|event| event.name == name).count();
    assert_eq!((count("interrupted"), count("span")), (ROUNDS, ROUNDS));
    assert!(count("handled") > 0, "events of the handler are recorded");
}
