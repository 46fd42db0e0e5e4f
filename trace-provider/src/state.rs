//! Whether tracing is under way.

/// What tracing does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceState {
    /// Nothing is recorded.
    Stopped,
    /// Trace points record.
    Started,
    /// Trace points still record; they end doing so as soon as the observers have returned.
    Stopping,
}
