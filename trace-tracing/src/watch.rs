//! Observes recordings: their start and stop change the interest of the layers.

use once_cell::race::OnceBox;
use trace_runtime::context::spans::set_span_ids;
use trace_runtime::{observe, Observer, TraceState};
use tracing_core::callsite::rebuild_interest_cache;

use crate::{levels, slot_table};

static OBSERVER: OnceBox<Observer> = OnceBox::new();

/// Makes `tracing` rebuild its interest cache whenever a recording starts or stops.
pub(crate) fn recordings() {
    set_span_ids(slot_table::operation);
    OBSERVER.get_or_init(|| Box::new(observe(follow)));
}

fn follow(state: TraceState) {
    match state {
        TraceState::Started => {
            rebuild_interest_cache();
            levels::raise();
        }
        TraceState::Stopping => slot_table::show_waiting(),
        TraceState::Stopped => {
            levels::restore();
            rebuild_interest_cache();
        }
    }
}
