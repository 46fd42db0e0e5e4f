//! Options of the layer and the subscriber.

use tracing_core::Subscriber;
use tracing_subscriber::registry::LookupSpan;

use crate::event::Form;
use crate::layer::{FilteredLayer, TraceLayer};
use crate::subscriber::TraceSubscriber;

/// Options for recording spans and events.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// let layer = trace_tracing::Options::new().events_as_logs().layer();
/// tracing_subscriber::registry().with(layer).init();
/// ```
#[derive(Clone, Debug)]
#[must_use = "recording requires that the layer or the subscriber is installed"]
pub struct Options {
    form: Form,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Returns the options of [`layer`](crate::layer) and [`subscriber`](crate::subscriber).
    pub fn new() -> Self {
        Self { form: Form::Instant }
    }

    /// Records events as log records, `LEVEL target: message key=value`, instead of instants. Some
    /// viewers, such as Perfetto, do not show log records.
    pub fn events_as_logs(mut self) -> Self {
        self.form = Form::Log;
        self
    }

    /// Creates a [`layer`](crate::layer).
    pub fn layer<S>(self) -> FilteredLayer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        TraceLayer::filtered(self.form)
    }

    /// Creates a [`subscriber`](crate::subscriber).
    pub fn subscriber(self) -> TraceSubscriber {
        TraceSubscriber::new(self.form)
    }
}

/// Returns a layer that records the spans and events of `tracing` whose target is a recorded
/// category.
///
/// It works beside other layers and does not affect them.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry().with(trace_tracing::layer()).init();
/// let _trace = trace_runtime::init();
/// tracing::info_span!("work", rounds = 3).in_scope(|| tracing::info!("half done"));
/// ```
pub fn layer<S>() -> FilteredLayer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Options::new().layer()
}

/// Returns a subscriber that records like [`layer`], for programs without other layers. It costs a
/// third, or half with two arguments, because it requires no registry and no filter.
///
/// Filters that require no registry, such as `EnvFilter`, can be added.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// trace_tracing::subscriber().init();
/// let _trace = trace_runtime::init();
/// tracing::info_span!("work", rounds = 3).in_scope(|| tracing::info!("half done"));
/// ```
pub fn subscriber() -> TraceSubscriber {
    Options::new().subscriber()
}
