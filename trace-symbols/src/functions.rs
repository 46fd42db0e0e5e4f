//! The functions of a file.

use object::{ObjectSymbol, ReadRef};

use crate::demangle;
use crate::symbol::{functions, FunctionSymbol};

/// The functions of a file, by their addresses in the file.
#[derive(Debug, Clone, Default)]
pub struct Functions(Vec<Symbol>);

/// A function, as the file has it: names are long when they are demangled.
#[derive(Debug, Clone)]
struct Symbol {
    start: u64,
    /// 0 if it is unknown.
    size: u64,
    name: Box<str>,
}

impl Functions {
    /// Reads `.symtab` and `.dynsym`.
    #[must_use]
    pub fn of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        let symbols = functions(file).filter_map(|symbol| {
            let name = symbol.name().ok()?.into();
            Some(Symbol { start: symbol.address(), size: symbol.size(), name })
        });
        let mut symbols: Vec<_> = symbols.collect();
        // Of several names of an address, the one with a size and the fewest underscores is used.
        symbols.sort_by_key(|symbol| (symbol.start, symbol.size == 0, underscores(&symbol.name)));
        symbols.dedup_by_key(|symbol| symbol.start);
        Self(symbols)
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first function of this demangled name.
    #[cfg(test)]
    pub(crate) fn named(&self, name: &str) -> Option<FunctionSymbol> {
        let symbol = self.0.iter().find(|symbol| demangle(&symbol.name) == name)?;
        Some(symbol.function(symbol.size))
    }

    /// Returns the function at an address of the file. Functions in assembly may have no size: they
    /// get that up to the next function.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<FunctionSymbol> {
        let behind = self.0.partition_point(|symbol| symbol.start <= address);
        let symbol = self.0.get(behind.checked_sub(1)?)?;
        let next = self.0.get(behind).map_or(u64::MAX, |next| next.start);
        let size = if symbol.size == 0 { next - symbol.start } else { symbol.size };
        (address - symbol.start < size).then(|| symbol.function(size))
    }
}

impl Symbol {
    fn function(&self, size: u64) -> FunctionSymbol {
        FunctionSymbol { start: self.start, size, name: demangle(&self.name).into() }
    }
}

/// Returns the number of underscores at the begin of a symbol. Those of `_Z` and `_R` are none of
/// the name.
fn underscores(symbol: &str) -> usize {
    match symbol.starts_with("_Z") || symbol.starts_with("_R") {
        true => 0,
        false => symbol.bytes().take_while(|byte| *byte == b'_').count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_size_reach_to_the_next_one() {
        let symbol = |start, size, name: &str| Symbol { start, size, name: name.into() };
        let functions =
            Functions(vec![symbol(16, 8, "a"), symbol(32, 0, "b"), symbol(64, 4, "_RNvC1a1c")]);
        let name = |address| functions.at(address).map(|symbol| symbol.name.to_string());
        let expected = [
            (15, ""),
            (16, "a"),
            (23, "a"),
            (24, ""),
            (32, "b"),
            (63, "b"),
            (64, "a::c"),
            (68, ""),
        ];
        for (address, expected) in expected {
            assert_eq!(name(address).unwrap_or_default(), expected, "{address}");
        }
        assert_eq!(functions.named("b").unwrap().start, 32);
        assert_eq!(functions.named("a::c").unwrap().start, 64);
    }
}
