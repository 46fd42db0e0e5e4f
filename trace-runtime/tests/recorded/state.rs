//! Observers of the start and the stop of tracing.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trace_runtime::{observe, trace_instant, trace_state, Observer, TraceState};

use crate::archive::{alone, find, lines, Recording};

#[test]
fn observers_are_called_on_their_own_thread() {
    let _alone = alone();
    let states = Arc::new(Mutex::new(Vec::new()));
    let here = Arc::clone(&states);
    let observer = observe(move |state| {
        assert_eq!(state, trace_state());
        trace_instant!("state", "observed", "state" => format!("{state:?}"));
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        here.lock().unwrap().push((state, thread));
    });
    let mut records = Vec::new();
    for _ in 0..2 {
        let recording = Recording::start();
        assert_eq!(trace_state(), TraceState::Started);
        records.extend(lines(&recording.end(), "state/observed"));
        assert_eq!(trace_state(), TraceState::Stopped);
    }
    drop(observer);
    Recording::start().end();
    let once = [TraceState::Started, TraceState::Stopping, TraceState::Stopped];
    let twice: Vec<_> =
        once.iter().chain(&once).map(|state| (*state, "trace-observer".to_owned())).collect();
    assert_eq!(*states.lock().unwrap(), twice);
    let observed = |state| format!("instant(Thread) state/observed state={state}");
    assert_eq!(records, ["Started", "Stopping", "Started", "Stopping"].map(observed));
}

/// Observers use the application's descriptors, which the tracer's own threads do not have.
#[test]
fn an_observer_uses_descriptors_of_the_application() {
    let _alone = alone();
    let (mut reader, writer) = UnixStream::pair().unwrap();
    let observer = observe(move |state| {
        (&writer).write_all(&[state as u8]).unwrap();
    });
    Recording::start().end();
    let mut states = [0; 3];
    reader.read_exact(&mut states).unwrap();
    assert_eq!(
        states,
        [TraceState::Started, TraceState::Stopping, TraceState::Stopped].map(|s| s as u8)
    );
    drop(observer);
    assert_eq!(reader.read(&mut states).unwrap(), 0, "its captures are dropped");
}

/// An observer that is added during a recording is called at its end.
#[test]
fn a_late_observer_is_called_at_the_end() {
    let _alone = alone();
    let states = Arc::new(Mutex::new(Vec::new()));
    let here = Arc::clone(&states);
    let recording = Recording::start();
    let observer = observe(move |state| here.lock().unwrap().push(state));
    recording.end();
    assert_eq!(*states.lock().unwrap(), [TraceState::Stopping, TraceState::Stopped]);
    drop(observer);
}

/// `init` returns after all observers have returned.
#[test]
fn the_start_waits_for_observers() {
    let _alone = alone();
    let ready = Arc::new(AtomicBool::new(false));
    let here = Arc::clone(&ready);
    let observer = observe(move |state| {
        std::thread::sleep(Duration::from_millis(50));
        here.store(state == TraceState::Started, Ordering::SeqCst);
    });
    let recording = Recording::start();
    assert!(ready.load(Ordering::SeqCst));
    recording.end();
    drop(observer);
}

#[test]
fn a_panic_of_an_observer_is_contained() {
    let _alone = alone();
    let calls = Arc::new(AtomicU32::new(0));
    let here = Arc::clone(&calls);
    let _panics = observe(|_| panic!("an observer of the test panics"));
    let _counts = observe(move |_| {
        here.fetch_add(1, Ordering::SeqCst);
    });
    let _panics_too = observe(|_| std::panic::panic_any(7));
    for times in 1..=2 {
        let recording = Recording::start();
        trace_instant!("state", "goes on");
        assert_eq!(lines(&recording.end(), "goes on").len(), 1);
        assert_eq!(calls.load(Ordering::SeqCst), 3 * times);
    }
}

/// The observer may drop its own guard, which then frees its captures.
#[test]
fn an_observer_may_remove_itself() {
    let _alone = alone();
    let own: Arc<Mutex<Option<Observer>>> = Arc::default();
    let (inside, captured) = (Arc::clone(&own), Arc::new(AtomicU32::new(0)));
    let counts = Arc::clone(&captured);
    let observer = observe(move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        drop(inside.lock().unwrap().take());
    });
    *own.lock().unwrap() = Some(observer);
    Recording::start().end();
    assert_eq!(captured.load(Ordering::SeqCst), 1);
    assert_eq!(Arc::strong_count(&captured), 1);
}

/// After the guard is dropped, the observer is never called, not even for a recording that is
/// starting.
#[test]
fn a_removed_observer_is_never_called() {
    for _ in 0..20 {
        let alive = Arc::new(AtomicBool::new(true));
        let here = Arc::clone(&alive);
        let observer = observe(move |_| {
            assert!(here.load(Ordering::SeqCst));
            std::thread::sleep(Duration::from_micros(200));
            assert!(here.load(Ordering::SeqCst));
        });
        let other = std::thread::spawn(|| Recording::start().end());
        std::thread::sleep(Duration::from_millis(1));
        drop(observer);
        alive.store(false, Ordering::SeqCst);
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// The service thread waits for observers, so an observer must not wait for it. A guard with effect
/// has the process's generation.
#[test]
fn an_observer_that_calls_init_gets_a_guard_without_effect() {
    let _alone = alone();
    let guards = Arc::new(Mutex::new(Vec::new()));
    let sent = Arc::clone(&guards);
    let observer =
        observe(move |_| sent.lock().unwrap().push(format!("{:?}", trace_runtime::init())));
    let recording = Recording::start();
    trace_instant!("state", "after an observer's init");
    let records = recording.end();
    assert_eq!(find(&records, "after an observer's init").len(), 1);
    drop(observer);
    let guards = guards.lock().unwrap();
    assert!(!guards.is_empty());
    assert!(guards.iter().all(|guard| guard.contains("generation: None")), "{guards:?}");
}
