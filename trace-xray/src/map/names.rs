//! Names of functions for readers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::Map;
use crate::record::FunctionId;

/// The names of functions, demangled at their first use.
#[derive(Debug, Default)]
pub struct Names {
    map: Map,
    known: HashMap<FunctionId, Box<str>>,
    missing: HashSet<FunctionId>,
}

impl Names {
    /// Creates the names of a map.
    #[must_use]
    pub fn new(map: Map) -> Self {
        Self { map, ..Self::default() }
    }

    /// Returns the name of a function; without one, `#` and its id.
    pub fn get(&mut self, id: FunctionId) -> Cow<'_, str> {
        let Some(function) = self.map.function(id) else {
            self.missing.insert(id);
            return id.to_string().into();
        };
        let name = self
            .known
            .entry(id)
            .or_insert_with(|| function.name().unwrap_or_else(|| id.to_string()).into_boxed_str());
        Cow::Borrowed(name)
    }

    /// Returns how many functions were looked for that the map does not have. If it has others, it
    /// is the map of another program.
    #[must_use]
    pub fn missing(&self) -> usize {
        if self.map.is_empty() {
            0
        } else {
            self.missing.len()
        }
    }
}
