//! `log::max_level()`: the application's level, raised during a recording.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use log::LevelFilter;
use once_cell::race::OnceBox;
use trace_runtime::{observe, trace_state, Observer, TraceState};

/// The application's level before it was raised, or [`NOT_RAISED`]. The current level is in `log`.
///
/// Rules: stored under the lock of [`CHANGING`], before the level is raised, and after it is
/// restored.
static FROM: AtomicUsize = AtomicUsize::new(NOT_RAISED);

/// The raised level. Rules: as for [`FROM`].
static TO: AtomicUsize = AtomicUsize::new(NOT_RAISED);

const NOT_RAISED: usize = usize::MAX;

static CHANGING: Mutex<()> = Mutex::new(());

static OBSERVER: OnceBox<Observer> = OnceBox::new();

/// Raises the level to `to` during all recordings.
pub(crate) fn raise_while_recording(to: LevelFilter) {
    OBSERVER.get_or_init(|| Box::new(observe(move |state| follow(state, to))));
    // A recording may have begun before the observer was added.
    follow(trace_state(), to);
}

fn follow(state: TraceState, to: LevelFilter) {
    let _alone = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    match (state, raised_from()) {
        (TraceState::Started, None) if log::max_level() < to => {
            FROM.store(log::max_level() as usize, Ordering::Relaxed);
            TO.store(to as usize, Ordering::Relaxed);
            log::set_max_level(to);
        }
        (TraceState::Stopped, Some(from)) => {
            log::set_max_level(from);
            TO.store(NOT_RAISED, Ordering::Relaxed);
        }
        (TraceState::Stopped, None) => TO.store(NOT_RAISED, Ordering::Relaxed),
        _ => {}
    }
}

/// Returns the application's level if the level is still the raised one.
fn raised_from() -> Option<LevelFilter> {
    let from = FROM.load(Ordering::Relaxed);
    let is_raised = TO.load(Ordering::Relaxed) == log::max_level() as usize;
    is_raised.then(|| LevelFilter::iter().find(|level| *level as usize == from)).flatten()
}

/// Returns the most verbose level of the application.
pub(crate) fn of_application() -> LevelFilter {
    raised_from().unwrap_or_else(log::max_level)
}
