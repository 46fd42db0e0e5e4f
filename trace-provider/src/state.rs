//! The state of tracing.

/// The state of tracing in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceState {
    /// Trace points do not record.
    Stopped,
    /// Trace points record.
    Started,
    /// Trace points still record, until all observers have returned.
    Stopping,
}
