//! Signal handlers that use `tracing` while they interrupt the bridge: at each allocation, many of
//! which are made under a lock.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use common::{read, Event};
use tracing::field::Empty;
use tracing::{info, info_span, Span};
use tracing_subscriber::prelude::*;

const ROUNDS: usize = 100;

/// More than a thread keeps for itself.
const SPANS: usize = 1000;

static SHARED: OnceLock<Span> = OnceLock::new();

static HANDLED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether allocations of the thread raise a signal.
    static RAISES: Cell<bool> = const { Cell::new(false) };

    /// Spans that the handler closes.
    static OPEN: RefCell<Vec<Span>> = const { RefCell::new(Vec::new()) };
}

struct Raising;

#[global_allocator]
static ALLOCATOR: Raising = Raising;

// SAFETY: `System` allocates and frees.
unsafe impl GlobalAlloc for Raising {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if RAISES.get() {
            // SAFETY: raise takes a number, and the signal has a handler.
            unsafe { libc::raise(libc::SIGUSR1) };
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Functions, each with call sites of its own.
macro_rules! call_sites {
    ($name:literal, $entries:literal: $($number:literal)*) => {
        [$(|| {
            info!(name: $name, target: "signal", number = $number);
            let span = info_span!(target: "signal", "span", number = $number);
            (0..$entries).for_each(|_| span.in_scope(|| {}));
        }),*]
    };
}

static OF_THREAD: [fn(); 12] = call_sites!("of the thread", 2: 0 1 2 3 4 5 6 7 8 9 10 11);
static OF_HANDLER: [fn(); 36] = call_sites!("of the handler", 1:
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35);

extern "C" fn handler(_: i32) {
    let raises = RAISES.take();
    let number = HANDLED.fetch_add(1, Ordering::Relaxed);
    if let Some(shared) = SHARED.get() {
        shared.in_scope(|| {});
        shared.record("handler", number);
    }
    OF_HANDLER[number % OF_HANDLER.len()]();
    drop(OPEN.with_borrow_mut(Vec::pop));
    RAISES.set(raises);
}

/// Runs `act` with a signal at each of its allocations.
fn interrupted(act: impl FnOnce()) {
    RAISES.set(true);
    act();
    RAISES.set(false);
}

/// The handler gets every lock that the thread holds, or continues without it. The values of both
/// are recorded.
#[test]
fn a_handler_does_not_wait_for_a_lock_of_the_thread() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("interrupted.fxt");
    trace_tracing::subscriber().init();
    let trace = trace_runtime::builder().output(&path).init();
    // SAFETY: the handler is a function of this program with the signature that the kernel calls.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    // SAFETY: a thread that waits for itself ends the process by SIGALRM, instead of never.
    unsafe { libc::alarm(120) };
    // First, so that the strings of tracks are new.
    OF_THREAD.iter().for_each(interrupted);
    let before = HANDLED.load(Ordering::Relaxed);
    let shared = info_span!(target: "signal", "shared", thread = Empty, handler = Empty);
    let shared = SHARED.get_or_init(|| shared);
    shared.in_scope(|| {});
    for number in 0..ROUNDS {
        interrupted(|| _ = shared.record("thread", number));
    }
    let many = || (0..SPANS).map(|_| info_span!(target: "signal", "many")).collect();
    OPEN.set(many());
    let closed: Vec<Span> = many();
    interrupted(|| drop(closed));
    drop(trace);
    let (events, _) = read(&path);
    let handled = HANDLED.load(Ordering::Relaxed);
    assert!(handled > ROUNDS);
    assert_eq!(values(&events, "thread"), ROUNDS);
    assert_eq!(values(&events, "handler"), handled - before);
    let count = |name: &str| events.iter().filter(|event| event.name == name).count();
    assert_eq!(count("of the thread"), OF_THREAD.len());
    assert!(count("of the handler") > 0);
    assert!(OPEN.take().len() < SPANS);
}

/// Returns how many different values of the shared span were recorded under this key.
fn values(events: &[Event], key: &str) -> usize {
    let values = events
        .iter()
        .filter(|event| event.name == "shared")
        .filter_map(|event| event.argument(key));
    values.collect::<std::collections::HashSet<_>>().len()
}
