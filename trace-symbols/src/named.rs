//! The functions of a file that have a name.

use std::sync::Arc;

use object::{ObjectSymbol, ReadRef};

use crate::demangle;
use crate::place_error::PlaceError;
use crate::symbol::{candidates, is_indirect, FunctionSymbol};

/// Returns the functions of a name by their addresses: a mangled or demangled name, and of C++ also
/// one without its parameters. Several functions can have one name, such as the instances of a
/// generic one, and one function several names.
///
/// # Errors
///
/// There is none.
pub fn functions_named<'a, R: ReadRef<'a>>(
    file: &object::File<'a, R>,
    name: &str,
) -> Result<Vec<FunctionSymbol>, PlaceError> {
    if candidates(file).next().is_none() {
        return Err(PlaceError::Stripped);
    }
    let mut found = find(file, |symbol| symbol == name);
    if found.is_empty() {
        found = find(file, |symbol| is_named(symbol, name));
    }
    if found.is_empty() {
        return Err(PlaceError::NoFunction);
    }
    found.retain(|found| !found.is_indirect);
    if found.is_empty() {
        return Err(PlaceError::Indirect);
    }
    let mut found: Vec<_> = found.into_iter().map(|found| found.function).collect();
    // Of several symbols of an address, one with a size is used.
    found.sort_by_key(|function| (function.start, function.size == 0));
    found.dedup_by_key(|function| function.start);
    Ok(found)
}

struct Found {
    function: FunctionSymbol,
    /// Whether it chooses another function when the program starts.
    is_indirect: bool,
}

fn find<'a, R: ReadRef<'a>>(
    file: &object::File<'a, R>,
    is_it: impl Fn(&str) -> bool,
) -> Vec<Found> {
    let found = candidates(file).filter_map(|symbol| {
        let name = symbol.name().ok().filter(|name| is_it(name))?;
        let name = Arc::from(demangle(name));
        let function = FunctionSymbol { start: symbol.address(), size: symbol.size(), name };
        Some(Found { function, is_indirect: is_indirect(&symbol) })
    });
    found.collect()
}

/// Returns whether a symbol is a function of a demangled name, which may lack its parameters.
fn is_named(symbol: &str, name: &str) -> bool {
    // Only these are demangled, which takes long for all symbols.
    if !symbol.starts_with("_Z") && !symbol.starts_with("_R") {
        return false;
    }
    let demangled = demangle(symbol);
    let rest = demangled.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_can_be_left_out() {
        for name in ["_ZN3foo3barEv", "foo::bar()", "foo::bar"] {
            assert!(name == "_ZN3foo3barEv" || is_named("_ZN3foo3barEv", name), "{name}");
        }
        assert!(is_named("_RNvC1a4main", "a::main"));
        for name in ["foo", "foo::ba", "bar", "foo::bar()x"] {
            assert!(!is_named("_ZN3foo3barEv", name), "{name}");
        }
        assert!(!is_named("main", "main"), "exact names are compared before");
    }

    #[inline(never)]
    fn generic<T: Default>() -> T {
        std::hint::black_box(T::default())
    }

    /// This program has several functions of one name.
    #[test]
    fn all_instances_of_a_generic_function_are_found() {
        assert_eq!((generic::<u64>(), generic::<[u8; 3]>()), (0, [0; 3]));
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = object::File::parse(&*program).unwrap();
        let found = functions_named(&file, "trace_symbols::named::tests::generic");
        // In symbols of version 0 of Rust, each instance has a name of its own.
        match found {
            Ok(found) => assert_eq!(found.len(), 2, "{found:?}"),
            Err(error) => assert_eq!(error, PlaceError::NoFunction),
        }
    }
}
