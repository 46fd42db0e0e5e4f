//! What a tracer has to bring to take part.

use std::path::Path;

/// Runs one kind of trace point `n` times. A whole loop behind one pointer, so that the trace point
/// is inlined into it.
pub type Loop = fn(n: u64);

/// A tracer: its loops, `None` for what it does not have.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// As it stands in the table, and behind `--only`.
    pub name: &'static str,
    /// Whether its trace points are those of the crate `tracing`; they have a table of their own.
    pub through_tracing: bool,
    /// A scope without arguments while nothing records; runs before `start`.
    pub off: Option<Loop>,
    /// A scope without arguments.
    pub scope: Loop,
    /// A scope with one `i64` and one short `&str`.
    pub scope_args: Option<Loop>,
    /// An instant without arguments.
    pub instant: Option<Loop>,
    /// A counter with one `i64`, or the nearest type there is.
    pub counter: Option<Loop>,
    /// Begins to record into the file, or into memory where the tracer has no file.
    pub start: fn(file: &Path) -> Box<dyn Session>,
}

/// A tracer that records.
pub trait Session {
    /// Called between measurements, outside the measured time: hands over what the tracer expects
    /// to be handed over by hand.
    fn settle(&mut self) {}

    /// Ends the recording; when it returns the file is complete.
    fn finish(self: Box<Self>);
}

/// What a loop measures.
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
    /// What is measured after `start`.
    pub const RECORDING: [Kind; 5] =
        [Kind::Scope, Kind::ScopeArgs, Kind::Instant, Kind::Counter, Kind::Threads];

    /// The word for it between driver and child.
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
    /// The loop for `kind`, where the tracer has it.
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
