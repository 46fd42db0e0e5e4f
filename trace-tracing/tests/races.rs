//! Slots that are reused while other threads read the state of their previous spans.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{read, Event};
use trace_format::notes::RECORDS_DROPPED;
use trace_format::{Reader, Record};
use tracing::{trace, trace_span, Span};
use tracing_subscriber::prelude::*;

/// How long a test runs to find a race.
const LONG: Duration = Duration::from_secs(4);

/// A lock, because only one recording with the subscriber can run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static ONCE: Once = Once::new();
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    ONCE.call_once(|| trace_tracing::subscriber().init());
    alone
}

/// A child outlives its parent, and a span whose parent is that child reuses the parent's slot.
/// Each of the two slots was then the other's parent. Two threads begin both tracks at the same
/// time.
#[test]
fn slots_that_are_parents_of_each_other() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_runtime::builder().output(directory.path().join("turns.fxt")).init();
    let rounds = Arc::new(AtomicU64::new(0));
    let end = Instant::now() + LONG;
    let pairs: Vec<_> = (0..3).map(|_| spawn_pair(end, Arc::clone(&rounds))).collect();
    let late = end + Duration::from_secs(600);
    while pairs.iter().any(|pair| !pair.is_finished()) {
        if Instant::now() > late {
            // A thread that is stuck would prevent the end of the recording.
            eprintln!("stuck after {} rounds", rounds.load(Ordering::Relaxed));
            std::process::abort();
        }
        thread::sleep(Duration::from_millis(10));
    }
    pairs.into_iter().for_each(|pair| pair.join().unwrap());
    drop(trace);
}

fn spawn_pair(end: Instant, rounds: Arc<AtomicU64>) -> JoinHandle<()> {
    let (sender, receiver) = mpsc::channel::<Span>();
    let (done, wait) = mpsc::channel();
    let other = thread::spawn(move || {
        for child in receiver {
            child.in_scope(|| {});
            trace!("go on");
            drop(child);
            done.send(()).unwrap();
        }
    });
    thread::spawn(move || {
        while Instant::now() < end {
            let parent = trace_span!(parent: None, "parent");
            let child = trace_span!(parent: &parent, "child");
            sender.send(child.clone()).unwrap();
            drop(parent);
            let reused = trace_span!(parent: &child, "in the slot of the parent");
            reused.in_scope(|| {});
            trace!("go on");
            drop((reused, child));
            wait.recv().unwrap();
            rounds.fetch_add(1, Ordering::Relaxed);
        }
        drop(sender);
        other.join().unwrap();
    })
}

/// Spans begin and end in the same slots while recordings end, which writes the tracks of waiting
/// spans.
#[test]
fn tracks_belong_to_their_spans() {
    let _alone = alone();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("slots.fxt");
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..3).map(|_| spawn_spans(Arc::clone(&stop))).collect();
    let end = Instant::now() + LONG;
    while Instant::now() < end {
        let trace = trace_runtime::builder().output(&path).init();
        thread::sleep(Duration::from_millis(5));
        drop(trace);
        assert_labelled(&path, threads.len());
    }
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn spawn_spans(stop: Arc<AtomicBool>) -> JoinHandle<()> {
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            drop(trace_span!("untouched"));
            trace_span!("entered", number = 1).in_scope(|| {});
        }
    })
}

/// Fails if a track has the begin of one span and the end of another one, or if more tracks are
/// open than spans.
///
/// On a busy machine, a recording may be so long that its buffer is full. It is not checked.
fn assert_labelled(path: &Path, threads: usize) {
    if has_losses(path) {
        return;
    }
    let (events, _) = read(path);
    let of = |kind| events.iter().filter(move |event| event.kind == kind);
    let mut open: HashMap<u64, &Event> = HashMap::new();
    for begin in of("async begin") {
        assert!(open.insert(begin.tail, begin).is_none(), "{} begins twice", begin.line());
    }
    for end in of("async end") {
        let begin = open.remove(&end.tail).expect("a track that ends has begun");
        assert_eq!(begin.name, end.name);
    }
    for begin in of("async begin") {
        let arguments = if begin.name == "entered" { vec!["number=1".to_owned()] } else { vec![] };
        assert_eq!(begin.arguments, arguments, "{}", begin.line());
    }
    assert!(open.len() <= threads, "{} tracks are open", open.len());
}

/// Returns whether records were dropped.
fn has_losses(path: &Path) -> bool {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Event(event) if item.text(event.name) == RECORDS_DROPPED => return true,
            _ => {}
        }
    }
    false
}
