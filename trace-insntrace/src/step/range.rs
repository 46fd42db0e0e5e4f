//! The restriction of a trace to addresses.

use crate::recording::Mapping;
use crate::symbols;

/// The traced addresses of a step engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TracedRange {
    /// From the first to the last address, both included.
    Addresses(u64, u64),
    /// The addresses of a function, in each file of a process that has it.
    Symbol(String),
}

impl TracedRange {
    pub(super) fn addresses(&self) -> Option<(u64, u64)> {
        match self {
            Self::Addresses(start, end) => Some((*start, *end)),
            Self::Symbol(_) => None,
        }
    }

    /// Returns the addresses of the function in a mapping.
    pub(super) fn addresses_in(&self, mapping: &Mapping) -> Option<(u64, u64)> {
        match self {
            Self::Addresses(..) => None,
            Self::Symbol(name) => symbols::find(mapping, name),
        }
    }
}
