//! Recordings: what their beginning and end do to `tracing`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use trace_runtime::{observe, Observer, TraceState};
use tracing_core::callsite::rebuild_interest_cache;

use crate::{homes, levels};

/// The number of the recording. Rules: stored by the observer alone.
static NUMBER: AtomicU32 = AtomicU32::new(1);

static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// The number of the recording under way, or of the last one. Neither 0 nor `u32::MAX`.
#[inline]
pub(crate) fn number() -> u32 {
    NUMBER.load(Ordering::Relaxed)
}

/// Has `tracing` ask again what is wanted whenever a recording begins or ends, from now on.
pub(crate) fn watch() {
    OBSERVER.get_or_init(|| observe(told));
}

fn told(state: TraceState) {
    match state {
        TraceState::Started => {
            let next = number() % (u32::MAX - 1) + 1;
            NUMBER.store(next, Ordering::Relaxed);
            rebuild_interest_cache();
            levels::raise();
        }
        TraceState::Stopping => homes::show_waiting(),
        TraceState::Stopped => {
            levels::set_back();
            rebuild_interest_cache();
        }
    }
}
