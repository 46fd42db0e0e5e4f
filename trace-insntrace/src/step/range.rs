//! The restriction of a trace to addresses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::recording::Mapping;
use crate::symbols;

/// The traced addresses of a step engine.
#[derive(Debug, Clone)]
pub enum TracedRange {
    /// From the first to the last address, both included.
    Addresses(u64, u64),
    /// The addresses of the functions of a name, in each file of a process that has them.
    Symbol(SymbolRange),
}

/// Functions whose addresses are traced, by their name. Copies share what was found.
#[derive(Debug, Clone)]
pub struct SymbolRange {
    name: String,
    found: Arc<Found>,
}

/// What the mappings of all processes have had, for any thread.
#[derive(Debug, Default)]
struct Found {
    is_any: AtomicBool,
    is_indirect: AtomicBool,
}

impl SymbolRange {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a process has had a function of the name.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.found.is_any.load(Ordering::Relaxed)
    }

    /// Returns whether a process has had an indirect function of the name: one that chooses another
    /// one when the program starts.
    #[must_use]
    pub fn is_indirect(&self) -> bool {
        self.found.is_indirect.load(Ordering::Relaxed)
    }

    fn addresses_in(&self, mapping: &Mapping) -> Vec<(u64, u64)> {
        let found = symbols::find(mapping, &self.name);
        self.found.is_indirect.fetch_or(found.is_indirect, Ordering::Relaxed);
        self.found.is_any.fetch_or(!found.addresses.is_empty(), Ordering::Relaxed);
        found.addresses
    }
}

impl From<&str> for SymbolRange {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), found: Arc::default() }
    }
}

impl TracedRange {
    pub(super) fn addresses(&self) -> Option<(u64, u64)> {
        match self {
            Self::Addresses(start, end) => Some((*start, *end)),
            Self::Symbol(_) => None,
        }
    }

    /// Returns the addresses of the functions in a mapping.
    pub(super) fn addresses_in(&self, mapping: &Mapping) -> Vec<(u64, u64)> {
        match self {
            Self::Addresses(..) => Vec::new(),
            Self::Symbol(symbol) => symbol.addresses_in(mapping),
        }
    }
}
