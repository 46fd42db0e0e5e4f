//! The provider of the program, from its start to its end, and all threads of this library.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use trace_runtime::foreign::{announce_own_thread, have_threads_ended};
use trace_runtime::{observe, Builder, Observer, Trace, TraceState};

use crate::session::{self, INTERVAL};
use crate::{control, own, sys};

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
}

/// Makes the program a provider.
pub(crate) fn provide(builder: Builder) {
    let observer = observe(session::observe);
    let provider = Provider { trace: builder.init(), observer };
    let mut life = LIFE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*life, Life::Ended) {
        // Its end may come here again.
        drop(life);
        return provider.end();
    }
    *life = Life::Providing(provider);
}

/// Makes the program a provider once an object with sleds is loaded.
pub(crate) fn watch(builder: Builder) {
    let (lasts, ended) = mpsc::channel::<()>();
    let run = move || {
        announce_own_thread();
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

/// Ends recording, and waits until the threads of this library have ended, also if another thread
/// of the program ends it.
pub(crate) fn end() {
    static ENDING: Mutex<()> = Mutex::new(());
    let _ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut life = LIFE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *life, Life::Ended);
    drop(life);
    match before {
        Life::None | Life::Ended => return own::set_inactive(),
        Life::Watching(Watch { lasts, thread }) => {
            drop(lasts);
            // A panic has ended the thread as early.
            let _panicked = thread.join();
        }
        Life::Providing(provider) => provider.end(),
    }
    wait_for_threads();
    own::set_inactive();
}

/// The longest wait for threads whose manager does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

impl Provider {
    /// Ends sessions: sleds are off then, and threads end.
    fn end(self) {
        drop(self.trace);
        drop(self.observer);
        // A session whose start took longer than the provider waits has not been told of its end.
        session::observe(TraceState::Stopped);
    }
}

/// Waits until the kernel has forgotten the threads.
fn wait_for_threads() {
    let deadline = Instant::now() + PATIENCE;
    while !have_threads_ended() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}
