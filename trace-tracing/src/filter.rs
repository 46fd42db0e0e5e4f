//! The filter of the layer: enables callsites whose category is recorded.

use trace_runtime::{trace_state, TraceState};
use tracing_core::subscriber::Interest;
use tracing_core::{LevelFilter, Metadata};
use tracing_subscriber::layer::{Context, Filter};

use crate::{callsites, levels};

/// A filter that enables spans and events whose category is recorded.
///
/// The category of a span or an event is its target. If the category is not recorded, the layer is
/// not interested. If no other layer is interested either, the callsite costs one load.
#[derive(Debug, Default)]
pub struct Recorded(());

impl<S> Filter<S> for Recorded {
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        is_recorded(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(max_level())
    }
}

/// Returns the most verbose recorded level: `OFF` or `TRACE`.
pub(crate) fn max_level() -> LevelFilter {
    match trace_state() {
        TraceState::Stopped => LevelFilter::OFF,
        TraceState::Started | TraceState::Stopping => LevelFilter::TRACE,
    }
}

/// Returns whether spans and events of this callsite are recorded in the current session.
pub(crate) fn interest(metadata: &'static Metadata<'static>) -> Interest {
    match callsites::of(metadata) {
        Some(callsite) if callsite.point.is_on() => Interest::always(),
        _ => Interest::never(),
    }
}

/// Returns whether this span or event is recorded. Its metadata may be temporary.
pub(crate) fn is_recorded(metadata: &Metadata<'_>) -> bool {
    match callsites::find(metadata) {
        Some(callsite) => callsite.point.is_on(),
        None => {
            levels::note_probe(metadata);
            trace_runtime::trace_category_enabled!(metadata.target())
        }
    }
}
