//! Names of functions for readers.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// The longest demangled name of C++. A short symbol can stand for an endless one.
const MAX_NAME_BYTES: usize = 16 << 10;

/// Returns a symbol demangled if it is one of Rust or C++.
#[must_use]
pub fn demangle(symbol: &str) -> String {
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
