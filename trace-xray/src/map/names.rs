//! Names of functions for readers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

use super::Map;
use crate::record::FunctionId;

/// The longest demangled name of C++. A short symbol can stand for an endless one.
const MAX_NAME_BYTES: usize = 16 << 10;

/// Returns a symbol demangled if it is one of Rust or C++.
pub(super) fn demangle(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        // Without the hash.
        return format!("{name:#}");
    }
    if !symbol.starts_with("_Z") {
        return symbol.to_owned();
    }
    let mut name = Bounded(String::new());
    let demangled = Symbol::new(symbol)
        .is_ok_and(|parsed| parsed.structured_demangle(&mut name, &DemangleOptions::new()).is_ok());
    if demangled {
        name.0
    } else {
        symbol.to_owned()
    }
}

/// Text up to [`MAX_NAME_BYTES`].
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The names of functions, demangled at their first use.
#[derive(Debug, Default)]
pub struct Names {
    map: Map,
    known: HashMap<FunctionId, Box<str>>,
}

impl Names {
    /// Creates the names of a map.
    #[must_use]
    pub fn new(map: Map) -> Self {
        Self { map, known: HashMap::new() }
    }

    /// Returns the name of a function; without one, `#` and its id.
    pub fn get(&mut self, id: FunctionId) -> Cow<'_, str> {
        let Some(function) = self.map.function(id) else { return id.to_string().into() };
        let name = self
            .known
            .entry(id)
            .or_insert_with(|| function.name().unwrap_or_else(|| id.to_string()).into_boxed_str());
        Cow::Borrowed(name)
    }
}
