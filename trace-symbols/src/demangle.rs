//! Names of functions for readers.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// The longest name. A short symbol can stand for an endless one.
const MAX_NAME_BYTES: usize = 16 << 10;

/// Returns a symbol demangled if it is one of Rust or C++, and its name has at most 16 KiB. A
/// longer symbol is cut.
#[must_use]
pub fn demangle(symbol: &str) -> String {
    let mut name = Bounded(String::new());
    let is_written = match rustc_demangle::try_demangle(symbol) {
        // Without the hash.
        Ok(demangled) => write!(name, "{demangled:#}").is_ok(),
        Err(_) => symbol.starts_with("_Z") && write_cpp(symbol, &mut name),
    };
    if is_written {
        name.0
    } else {
        cut(symbol, MAX_NAME_BYTES).to_owned()
    }
}

/// Returns the start of a text, of at most `bytes`.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

fn write_cpp(symbol: &str, name: &mut Bounded) -> bool {
    let options = DemangleOptions::new();
    Symbol::new(symbol).is_ok_and(|parsed| parsed.structured_demangle(name, &options).is_ok())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp() {
        assert_eq!(demangle("_RNvC1a4main"), "a::main");
        assert_eq!(demangle("_ZN3foo3barEv"), "foo::bar()");
        assert_eq!(demangle("main"), "main");
    }

    #[test]
    fn a_name_beyond_the_limit_stays_mangled() {
        // Each tuple has the one before it twice.
        let mut symbol = "_RIC1a".to_owned();
        let mut last = "p".to_owned();
        for _ in 0..12 {
            let place = symbol.len() - 2;
            symbol += &format!("T{last}{last}E");
            last = format!("B{}_", base_62(place));
        }
        symbol.push('E');
        let name = rustc_demangle::try_demangle(&symbol).unwrap().to_string();
        assert!(name.len() > MAX_NAME_BYTES, "{}", name.len());
        assert_eq!(demangle(&symbol), symbol);
    }

    #[test]
    fn a_long_symbol_is_cut() {
        let symbol = format!("a{}", "ä".repeat(MAX_NAME_BYTES));
        assert_eq!(demangle(&symbol), symbol[..MAX_NAME_BYTES - 1]);
        assert_eq!([cut("aä", 0), cut("aä", 2), cut("aä", 3), cut("aä", 9)], ["", "a", "aä", "aä"]);
    }

    /// A number of a v0 symbol, which is that of the digits and 1.
    fn base_62(number: usize) -> String {
        let digits = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let Some(mut rest) = number.checked_sub(1) else { return String::new() };
        let mut text = Vec::new();
        loop {
            text.insert(0, digits[rest % 62]);
            rest /= 62;
            if rest == 0 {
                return String::from_utf8(text).unwrap();
            }
        }
    }
}
