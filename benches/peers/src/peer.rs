//! The interface of a tracer.

use std::path::Path;

/// Runs one kind of trace point `n` times. The pointer is to a whole loop, so that the trace point
/// is inlined.
pub type Loop = fn(n: u64);

/// A tracer and its loops; `None` if it does not support a kind.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The name in the table, and in `--only`.
    pub name: &'static str,
    /// Whether its trace points are those of the crate `tracing`; they have a table of their own.
    pub through_tracing: bool,
    /// A scope without arguments while tracing is off; runs before `start`.
    pub off: Option<Loop>,
    /// A scope without arguments.
    pub scope: Loop,
    /// A scope with one `i64` and one short `&str`.
    pub scope_args: Option<Loop>,
    /// An instant without arguments.
    pub instant: Option<Loop>,
    /// A counter with one `i64`, or the closest supported type.
    pub counter: Option<Loop>,
    /// Starts recording into the file, or into memory if the tracer has no file.
    pub start: fn(file: &Path) -> Box<dyn Session>,
}

/// A tracer that records.
pub trait Session {
    /// Called between measurements, outside the measured time: flushes data that the tracer does
    /// not flush by itself.
    fn settle(&mut self) {}

    /// Ends the recording. The file is complete when it returns.
    fn finish(self: Box<Self>);
}

/// The kind of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A scope before the tracer was started.
    Off,
    /// A scope without arguments.
    Scope,
    /// A scope with an `i64` and a short `&str`.
    ScopeArgs,
    /// An instant.
    Instant,
    /// A counter.
    Counter,
    /// Scopes without arguments on two threads at once.
    Threads,
}

impl Kind {
    /// The kinds that are measured after `start`.
    pub const RECORDING: [Kind; 5] =
        [Kind::Scope, Kind::ScopeArgs, Kind::Instant, Kind::Counter, Kind::Threads];

    /// Returns the word for the kind in commands.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Off => "off",
            Kind::Scope => "scope",
            Kind::ScopeArgs => "scope-args",
            Kind::Instant => "instant",
            Kind::Counter => "counter",
            Kind::Threads => "threads",
        }
    }

    /// The opposite of [`Kind::word`].
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::RECORDING.into_iter().chain([Kind::Off]).find(|kind| kind.word() == word)
    }
}

impl Peer {
    /// Returns the loop for `kind`, if the tracer supports it.
    pub fn body(&self, kind: Kind) -> Option<Loop> {
        match kind {
            Kind::Off => self.off,
            Kind::Scope | Kind::Threads => Some(self.scope),
            Kind::ScopeArgs => self.scope_args,
            Kind::Instant => self.instant,
            Kind::Counter => self.counter,
        }
    }
}
