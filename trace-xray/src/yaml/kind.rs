//! The kinds of records, and their names.

use crate::layout::Action;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Function(Action),
    Custom,
    Typed,
}

impl Kind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Function(Action::Entry), "function-enter"),
        (Self::Function(Action::Exit), "function-exit"),
        (Self::Function(Action::TailExit), "function-tail-exit"),
        (Self::Function(Action::EntryArgs), "function-enter-arg"),
        (Self::Custom, "custom-event"),
        (Self::Typed, "typed-event"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}
