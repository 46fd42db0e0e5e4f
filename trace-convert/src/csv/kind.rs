//! The kinds of rows.

use trace_analyze::spans::Role;
use trace_format::EventKind;

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Duration,
    Poll,
    Drop,
    Async,
    AsyncInstant,
    Flow,
    FlowStep,
    Instant,
    Counter,
    Log,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Duration,
        Self::Poll,
        Self::Drop,
        Self::Async,
        Self::AsyncInstant,
        Self::Flow,
        Self::FlowStep,
        Self::Instant,
        Self::Counter,
        Self::Log,
    ];

    /// Returns the kind of an event that has a row of its own.
    pub(super) fn of(kind: EventKind) -> Self {
        match kind {
            EventKind::AsyncInstant { .. } => Self::AsyncInstant,
            EventKind::FlowStep { .. } => Self::FlowStep,
            EventKind::Counter { .. } => Self::Counter,
            _ => Self::Instant,
        }
    }

    /// Returns whether rows have a length.
    pub(super) fn has_length(self) -> bool {
        self.is_duration() || matches!(self, Self::Async | Self::Flow)
    }

    /// Returns whether rows have a depth and a self time.
    pub(super) fn is_duration(self) -> bool {
        matches!(self, Self::Duration | Self::Poll | Self::Drop)
    }

    /// Returns whether rows have an id.
    pub(super) fn has_id(self) -> bool {
        !self.is_duration() && !matches!(self, Self::Instant | Self::Log)
    }

    /// Returns its word in the table.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Duration => Role::Duration.as_str(),
            Self::Poll => Role::Poll.as_str(),
            Self::Drop => Role::Drop.as_str(),
            Self::Async => "async",
            Self::AsyncInstant => "async-instant",
            Self::Flow => "flow",
            Self::FlowStep => "flow-step",
            Self::Instant => "instant",
            Self::Counter => "counter",
            Self::Log => "log",
        }
    }
}

impl From<Role> for Kind {
    fn from(role: Role) -> Self {
        match role {
            Role::Duration => Self::Duration,
            Role::Poll => Self::Poll,
            Role::Drop => Self::Drop,
        }
    }
}
