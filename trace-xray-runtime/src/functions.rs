//! The functions of an object that have sleds, with a trace point each.

use std::collections::hash_map::DefaultHasher;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::io;
use std::ops::Range;

use object::{Object as _, ObjectSection, ObjectSymbol, SymbolKind};
use trace_runtime::foreign::Site;
use trace_xray::layout::SLED_SECTION;
use trace_xray::map::Map;

use crate::names;
use crate::objects::Object;
use crate::selection::Selection;
use crate::sites::Sites;
use crate::sled::Kind;
use crate::wide::can_save_all;

/// The functions of an object that have sleds.
#[derive(Debug)]
pub(crate) struct Functions {
    /// Those that are selected.
    pub(crate) list: Vec<Function>,
    /// The code of all, by its addresses in the file: each up to the next function.
    pub(crate) code: Vec<Range<u64>>,
    pub(crate) section: Section,
    /// Whether the object has LLVM's runtime, which patches the same sleds.
    pub(crate) has_runtime: bool,
}

/// A selected function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) site: &'static Site,
    /// Its sleds, with their addresses in the file.
    pub(crate) sleds: Vec<(u64, Kind)>,
}

/// The section of sleds, which tells an object from another one that is loaded in its place.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its addresses in the file.
    addresses: Range<u64>,
    /// The sum of those of its bytes that the loader does not change.
    sum: u64,
}

/// The function of LLVM's runtime that patches sleds.
const PATCHES: &[u8] = b"__xray_patch";

/// Bytes of an entry of the section, and the place of its version.
const ENTRY: usize = 32;
const VERSION: usize = 18;

/// Returns the selected functions of a program or shared library, or `None` if it has no sleds.
///
/// # Errors
///
/// It has sleds, but their map is damaged.
pub(crate) fn read(
    bytes: &[u8],
    selection: &Selection,
    sites: &mut Sites,
) -> io::Result<Option<Functions>> {
    let Ok(file) = object::File::parse(bytes) else { return Ok(None) };
    if file.section_by_name(SLED_SECTION).is_none_or(|section| section.size() == 0) {
        return Ok(None);
    }
    let map = Map::parse(bytes).map_err(|error| damaged(&error.to_string()))?;
    let section = Section::of(&file).ok_or_else(|| damaged("the section has no valid address"))?;
    let list = select(&map, selection, sites);
    let (code, has_runtime) = (code(&map, &file), has_runtime(&file));
    Ok(Some(Functions { list, code, section, has_runtime }))
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the map of sleds is damaged: {reason}"))
}

fn has_runtime(file: &object::File<'_>) -> bool {
    let mut symbols = file.symbols().chain(file.dynamic_symbols());
    symbols.any(|it| it.is_definition() && it.name_bytes().is_ok_and(|name| name == PATCHES))
}

impl Section {
    fn of(file: &object::File<'_>) -> Option<Self> {
        let section = file.section_by_name(SLED_SECTION)?;
        let bytes = section.data().ok()?;
        let start = section.address();
        let addresses = start..start.checked_add(bytes.len() as u64)?;
        Some(Self { addresses, sum: sum(bytes) })
    }

    /// Returns whether an object has this section. The object must be loaded.
    pub(crate) fn is_in(&self, object: &Object) -> bool {
        let [start, end] =
            [self.addresses.start, self.addresses.end].map(|it| it.wrapping_add(object.base));
        object.bytes(&(start..end)).is_some_and(|bytes| sum(&bytes) == self.sum)
    }
}

/// Returns the sum of an object's entries, before version 2 without their addresses, which the
/// loader changes.
fn sum(bytes: &[u8]) -> u64 {
    let mut sum = DefaultHasher::new();
    for entry in bytes.chunks(ENTRY) {
        let is_relative = entry.get(VERSION).is_some_and(|version| *version >= 2);
        let fixed = if is_relative { 0 } else { ENTRY / 2 };
        sum.write(entry.get(fixed..).unwrap_or_default());
    }
    sum.finish()
}

fn select(map: &Map, selection: &Selection, sites: &mut Sites) -> Vec<Function> {
    let mut sleds = sleds_by_function(map);
    let functions = map.functions().filter_map(|(id, function)| {
        let start = function.address;
        let name = function.name().unwrap_or_else(|| format!("{start:#x}"));
        let sleds = sleds.remove(&id)?;
        let is_selected = selection.contains(&name) && !names::is_own(&name);
        let has_argument = sleds.iter().any(|(_, kind)| *kind == Kind::ArgumentEntry);
        is_selected.then(|| Function { site: sites.of(&name, has_argument), sleds })
    });
    functions.collect()
}

/// Returns the code of all functions of a map. Symbols tell where a function without sleds begins.
fn code(map: &Map, file: &object::File<'_>) -> Vec<Range<u64>> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let symbols = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text);
    let functions = map.functions().map(|(_, function)| function.address);
    let mut starts: Vec<u64> = symbols.map(|symbol| symbol.address()).chain(functions).collect();
    starts.sort_unstable();
    let code = map.functions().map(|(_, function)| {
        let next = starts.partition_point(|other| *other <= function.address);
        function.address..starts.get(next).copied().unwrap_or(u64::MAX)
    });
    code.collect()
}

/// Returns the sleds of each function. Those of events are left out if the processor cannot save
/// all its registers.
fn sleds_by_function(map: &Map) -> BTreeMap<trace_xray::FunctionId, Vec<(u64, Kind)>> {
    let mut sleds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for sled in map.sleds() {
        let kind = Kind::of(sled.kind);
        if !matches!(kind, Kind::CustomEvent | Kind::TypedEvent) || can_save_all() {
            sleds.entry(sled.id).or_default().push((sled.address, kind));
        }
    }
    sleds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(address: u8, kind: u8, version: u8) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        (entry[0], entry[16], entry[VERSION]) = (address, kind, version);
        entry
    }

    fn read(bytes: &[u8]) -> io::Result<Option<Functions>> {
        super::read(bytes, &Selection::parse("*"), &mut Sites::default())
    }

    #[test]
    fn a_damaged_map_is_an_error() {
        let file = trace_xray::map::write(&["first", "second"], None).unwrap();
        assert_eq!(read(&file).unwrap().unwrap().code.len(), 2);
        let mut kind = file.clone();
        let at = kind.windows(3).position(|bytes| bytes == [0, 1, 2]).unwrap();
        kind[at] = 9;
        let mut size = file.clone();
        let at = size.windows(8).rposition(|bytes| bytes == 64u64.to_le_bytes()).unwrap();
        size[at] = 63;
        for (file, reason) in [
            (kind, "sled 0 has unknown kind 9"),
            (size, "section xray_instr_map: 63 bytes are no multiple of 32"),
        ] {
            let error = read(&file).unwrap_err().to_string();
            assert_eq!(error, format!("the map of sleds is damaged: {reason}"));
        }
    }

    #[test]
    fn objects_without_sleds_have_no_functions() {
        let empty = trace_xray::map::write::<&str>(&[], None).unwrap();
        assert!(read(&empty).unwrap().is_none() && read(b"text").unwrap().is_none());
    }

    #[test]
    fn addresses_that_the_loader_changes_are_not_in_the_sum() {
        assert_ne!(sum(&entry(1, 0, 2)), sum(&entry(2, 0, 2)));
        assert_eq!(sum(&entry(1, 0, 1)), sum(&entry(2, 0, 1)));
        assert_ne!(sum(&entry(1, 0, 1)), sum(&entry(1, 1, 1)));
        assert_ne!(sum(&entry(1, 0, 2)), sum(&[entry(1, 0, 2); 2].concat()));
    }
}
