//! The symbols of functions.

use std::sync::Arc;

use object::{elf, Object, ObjectSymbol, ReadRef, SymbolFlags, SymbolKind};

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Its address in the file.
    pub start: u64,
    /// Its size in bytes; 0 if it is unknown.
    pub size: u64,
    /// The demangled name.
    pub name: Arc<str>,
}

/// Returns the symbols of functions that a file has.
pub(crate) fn functions<'file, 'a: 'file, R: ReadRef<'a>>(
    file: &'file object::File<'a, R>,
) -> impl Iterator<Item = object::Symbol<'a, 'file, R>> {
    candidates(file).filter(ObjectSymbol::is_definition)
}

/// Returns the symbols of functions that a file has, and those of indirect functions, which are no
/// definitions to `object`.
pub(crate) fn candidates<'file, 'a: 'file, R: ReadRef<'a>>(
    file: &'file object::File<'a, R>,
) -> impl Iterator<Item = object::Symbol<'a, 'file, R>> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    symbols.filter(|symbol| {
        let is_defined = symbol.is_definition() || is_indirect(symbol) && !symbol.is_undefined();
        symbol.kind() == SymbolKind::Text && is_defined
    })
}

pub(crate) fn is_indirect<'a>(symbol: &impl ObjectSymbol<'a>) -> bool {
    match symbol.flags() {
        SymbolFlags::Elf { st_info, .. } => st_info & 0xf == elf::STT_GNU_IFUNC,
        _ => false,
    }
}
