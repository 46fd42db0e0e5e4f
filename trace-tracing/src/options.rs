//! What there is to choose.

use tracing_core::Subscriber;
use tracing_subscriber::registry::LookupSpan;

use crate::event::Form;
use crate::layer::{FilteredLayer, TraceLayer};
use crate::subscriber::TraceSubscriber;

/// Chooses how spans and events are recorded.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// let layer = trace_tracing::Options::new().events_as_logs().layer();
/// tracing_subscriber::registry().with(layer).init();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before the layer or the subscriber is in place"]
pub struct Options {
    form: Form,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// What [`layer`](crate::layer) and [`subscriber`](crate::subscriber) do.
    pub fn new() -> Self {
        Self { form: Form::Instant }
    }

    /// Makes events log records, `LEVEL target: message key=value`, and not instants. Some viewers,
    /// as Perfetto, leave log records out.
    pub fn events_as_logs(mut self) -> Self {
        self.form = Form::Log;
        self
    }

    /// Makes a [`layer`](crate::layer).
    pub fn layer<S>(self) -> FilteredLayer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        TraceLayer::filtered(self.form)
    }

    /// Makes a [`subscriber`](crate::subscriber).
    pub fn subscriber(self) -> TraceSubscriber {
        TraceSubscriber::new(self.form)
    }
}

/// A layer that records the spans and events of `tracing` whose target is a category that is being
/// recorded.
///
/// It stands beside other layers and takes nothing from them.
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

/// A subscriber that does what [`layer`] does, for programs in which nothing else listens to
/// `tracing`: it costs a third, or half with two arguments, since there is no registry and no
/// filter.
///
/// What filters without a registry can still be put on top of it, as `EnvFilter`.
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
