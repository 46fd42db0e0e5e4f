//! The provider of the program, from its start to its end, and all threads of this library.

use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use trace_runtime::{observe, Builder, Observer, Trace};

use crate::session::{self, INTERVAL};
use crate::{control, handler, sys};

static LIFE: Mutex<Life> = Mutex::new(Life::None);

#[derive(Debug)]
enum Life {
    None,
    /// No object has sleds yet.
    Watching(Watch),
    Providing(Provider),
    Ended,
}

/// A thread that looks for objects with sleds.
#[derive(Debug)]
struct Watch {
    /// Ends the thread when it is dropped.
    lasts: Sender<()>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Provider {
    trace: Trace,
    observer: Observer,
    /// The ids of its threads.
    threads: BTreeSet<u32>,
}

/// Makes the program a provider.
pub(crate) fn provide(builder: Builder) {
    let before = threads();
    let observer = observe(session::observe);
    let trace = builder.init();
    let threads = threads().difference(&before).copied().collect();
    let provider = Provider { trace, observer, threads };
    let mut life = LIFE.lock().unwrap_or_else(PoisonError::into_inner);
    match *life {
        Life::Ended => provider.end(),
        _ => *life = Life::Providing(provider),
    }
}

/// Makes the program a provider once an object with sleds is loaded.
pub(crate) fn watch(builder: Builder) {
    let (lasts, ended) = mpsc::channel::<()>();
    let run = move || {
        if sys::own_descriptors().is_err() {
            return;
        }
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if control::find_sleds() {
                return provide(builder);
            }
        }
    };
    let mut life = LIFE.lock().unwrap_or_else(PoisonError::into_inner);
    let thread = thread::Builder::new().name(session::THREAD.to_owned());
    if let Ok(thread) = sys::without_signals(|| thread.spawn(run)) {
        *life = Life::Watching(Watch { lasts, thread });
    }
}

/// Ends recording, and waits until the threads of this library have ended.
pub(crate) fn end() {
    handler::set_active(false);
    let mut life = LIFE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *life, Life::Ended);
    drop(life);
    match before {
        Life::None | Life::Ended => {}
        Life::Watching(Watch { lasts, thread }) => {
            drop(lasts);
            // A panic has ended the thread as early.
            let _panicked = thread.join();
        }
        Life::Providing(provider) => provider.end(),
    }
}

/// The longest wait for threads whose manager does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

impl Provider {
    fn end(self) {
        // Sessions end, and so sleds are off.
        drop(self.trace);
        drop(self.observer);
        let deadline = Instant::now() + PATIENCE;
        while has_threads(&self.threads) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Returns the ids of the threads of this process.
fn threads() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns whether one of these threads runs, or one that prepares a buffer.
fn has_threads(ours: &BTreeSet<u32>) -> bool {
    let prepares = |thread: &u32| {
        let name = fs::read(format!("/proc/self/task/{thread}/comm"));
        name.is_ok_and(|name| name.starts_with(b"trace-populate"))
    };
    threads().iter().any(|thread| ours.contains(thread) || prepares(thread))
}
