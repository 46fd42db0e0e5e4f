//! Where the functions of a name are in their file.

use std::fs::File;
use std::path::Path;

use object::{ReadCache, ReadRef};

use crate::module::{debug_file, MAX_SYMBOL_BYTES};
use crate::named::functions_named;
use crate::place_error::PlaceError;
use crate::symbol::FunctionSymbol;
use crate::{open, Limited, Segments};

/// A place in the code of a program or library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeName {
    /// This many bytes after the start of each function of this name: mangled or demangled, and of
    /// C++ also without its parameters.
    Function(String, u64),
    /// An address in the file, as `nm` and `objdump` print it.
    Address(u64),
}

impl CodeName {
    /// Parses `NAME`, `NAME+OFFSET`, or an address that begins with `0x`. The offset is decimal, or
    /// hexadecimal after `0x`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Some(address) = text.strip_prefix("0x").and_then(hexadecimal) {
            return Self::Address(address);
        }
        let offset = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => hexadecimal(digits),
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            None => None,
        };
        let parts = text.rsplit_once('+').filter(|(name, _)| !name.is_empty());
        match parts.and_then(|(name, end)| Some((name, offset(end)?))) {
            Some((name, offset)) => Self::Function(name.to_owned(), offset),
            None => Self::Function(text.to_owned(), 0),
        }
    }

    /// Returns the offsets of the code in a file, ascending. Several functions can have one name,
    /// such as the instances of a generic one. If the file has no function of the name, the debug
    /// information of its build id below `/usr/lib/debug` is searched.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn offsets(&self, file: &File) -> Result<Vec<u64>, PlaceError> {
        let file = file.try_clone().map_err(|_| PlaceError::Malformed)?;
        let cache = ReadCache::new(file);
        let limited = Limited::new(&cache, MAX_SYMBOL_BYTES);
        let file = parse(&limited)?;
        let segments = Segments::of(&file);
        let addresses = match self {
            Self::Address(address) => vec![*address],
            Self::Function(name, offset) => {
                let build_id = limited.build_id(&file).unwrap_or_default();
                limited.permit(MAX_SYMBOL_BYTES);
                let own = addresses(&file, name, *offset);
                if limited.is_exceeded() {
                    return Err(PlaceError::TooLarge);
                }
                match own {
                    Err(error @ (PlaceError::Stripped | PlaceError::NoFunction)) => {
                        let separate = debug_file(build_id);
                        let separate =
                            separate.and_then(|it| of_debug_file(&it, build_id, name, *offset));
                        separate.ok_or(error)?
                    }
                    own => own?,
                }
            }
        };
        let offsets = addresses.into_iter().map(|address| segments.offset(address));
        let mut offsets = offsets.collect::<Option<Vec<u64>>>().ok_or(PlaceError::NoCode)?;
        offsets.sort_unstable();
        offsets.dedup();
        Ok(offsets)
    }
}

fn parse<'a>(
    limited: &'a Limited<&'a ReadCache<File>>,
) -> Result<object::File<'a, &'a Limited<&'a ReadCache<File>>>, PlaceError> {
    object::File::parse(limited).map_err(|_| match limited.is_exceeded() {
        true => PlaceError::TooLarge,
        false => PlaceError::Malformed,
    })
}

/// Returns the addresses that separate debug information of this build id has.
fn of_debug_file(path: &Path, build_id: &[u8], name: &str, offset: u64) -> Option<Vec<u64>> {
    let cache = ReadCache::new(open(path)?);
    let limited = Limited::new(&cache, MAX_SYMBOL_BYTES);
    let file = parse(&limited).ok()?;
    let is_it = limited.build_id(&file) == Some(build_id);
    limited.permit(MAX_SYMBOL_BYTES);
    is_it.then(|| addresses(&file, name, offset).ok()).flatten()
}

/// Returns the addresses `offset` bytes after the starts of the functions of a name.
fn addresses<'a, R: ReadRef<'a>>(
    file: &object::File<'a, R>,
    name: &str,
    offset: u64,
) -> Result<Vec<u64>, PlaceError> {
    let found = functions_named(file, name)?;
    let is_within = |it: &FunctionSymbol| offset == 0 || it.size == 0 || offset < it.size;
    let places = found.iter().map(|it| is_within(it).then(|| it.start.checked_add(offset)));
    places.map(Option::flatten).collect::<Option<_>>().ok_or(PlaceError::NoCode)
}

fn hexadecimal(digits: &str) -> Option<u64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_offsets_and_addresses() {
        let function = |name: &str, offset| CodeName::Function(name.to_owned(), offset);
        for (text, expected) in [
            ("main", function("main", 0)),
            ("main+4", function("main", 4)),
            ("a::b+0x1f", function("a::b", 0x1f)),
            ("0x1234", CodeName::Address(0x1234)),
            ("0xmain", function("0xmain", 0)),
            ("operator+", function("operator+", 0)),
            ("operator++", function("operator++", 0)),
            ("+4", function("+4", 0)),
            ("a+-4", function("a+-4", 0)),
        ] {
            assert_eq!(CodeName::parse(text), expected, "{text}");
        }
    }

    /// This program has functions of its own.
    #[test]
    fn a_function_of_this_program() {
        let file = open(&std::env::current_exe().unwrap()).unwrap();
        let offsets = |name: &str| CodeName::parse(name).offsets(&file);
        let main = offsets("main").unwrap();
        assert_eq!(main.len(), 1);
        let by_demangled = offsets("trace_symbols::places::parse").unwrap();
        assert_eq!(by_demangled.len(), 1);
        let later = offsets("trace_symbols::places::parse+1").unwrap();
        assert_eq!(later, [by_demangled[0] + 1]);
        assert_eq!(offsets("no such function"), Err(PlaceError::NoFunction));
        assert_eq!(offsets("main+0xffffff"), Err(PlaceError::NoCode));
        assert_eq!(offsets("0x0"), Err(PlaceError::NoCode));
    }

    #[test]
    fn files_without_code() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "#!/bin/sh\n").unwrap();
        let offsets = CodeName::parse("main").offsets(file.as_file());
        assert_eq!(offsets, Err(PlaceError::Malformed));
    }
}
