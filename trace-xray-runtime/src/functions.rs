//! The functions of an object that have sleds, with a trace point each.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use object::{Object as _, ObjectSymbol, ReadCache, SymbolKind};
use trace_runtime::foreign::Site;
use trace_xray::layout::SLED_SECTION;
use trace_xray::map::Map;

use crate::selection::Selection;
use crate::sites;
use crate::sled::Kind;

/// The size of a program or library that is read at most.
const MOST_BYTES: u64 = 1 << 30;

/// The functions of an object that have sleds.
#[derive(Debug)]
pub(crate) struct Functions {
    /// Those that are selected.
    pub(crate) list: Vec<Function>,
    /// The code of all, by its addresses in the file: each up to the next function.
    pub(crate) code: Vec<Range<u64>>,
}

/// A selected function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) site: &'static Site,
    /// Its sleds, with their addresses in the file.
    pub(crate) sleds: Vec<(u64, Kind)>,
}

/// Returns the selected functions of a program or shared library, or `None` if it has no sleds or
/// cannot be read.
pub(crate) fn read(path: &Path, selection: &Selection) -> Option<Functions> {
    let file = open(path)?;
    if !has_sleds(&file) {
        return None;
    }
    let mut bytes = Vec::new();
    (&file).take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let map = Map::parse(&bytes).ok()?;
    let code = code(&map, &object::File::parse(&*bytes).ok()?);
    Some(Functions { list: select(&map, selection), code })
}

/// Opens the file of an object, and waits for nothing. The loader's names of the vDSO, and of
/// libraries in directories that are not absolute, could be files of others in the current one.
fn open(path: &Path) -> Option<File> {
    if !path.is_absolute() {
        return None;
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= MOST_BYTES).then_some(file)
}

/// Returns whether the file has sleds. Reads little of those that have none.
fn has_sleds(file: &File) -> bool {
    let cache = ReadCache::new(file);
    let has =
        object::File::parse(&cache).is_ok_and(|file| file.section_by_name(SLED_SECTION).is_some());
    has && (&*file).rewind().is_ok()
}

fn select(map: &Map, selection: &Selection) -> Vec<Function> {
    let mut sleds = sleds_by_function(map);
    let functions = map.functions().filter_map(|(id, function)| {
        let start = function.address;
        let name = function.name().unwrap_or_else(|| format!("{start:#x}"));
        let sleds = sleds.remove(&id)?;
        let is_selected = selection.contains(&name);
        is_selected.then(|| Function { site: sites::make(&name), sleds })
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

/// Returns the sleds of each function that has some to be recorded.
fn sleds_by_function(map: &Map) -> BTreeMap<trace_xray::FunctionId, Vec<(u64, Kind)>> {
    let mut sleds: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for sled in map.sleds() {
        if let Some(kind) = Kind::of(sled.kind) {
            sleds.entry(sled.id).or_default().push((sled.address, kind));
        }
    }
    sleds
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_regular_files_with_absolute_paths_are_opened() {
        assert!(open(Path::new("/proc/self/exe")).is_some());
        assert!(open(Path::new("Cargo.toml")).is_none(), "a file in the current directory");
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(open(&pipe).is_none());
        let large = directory.path().join("large");
        File::create(&large).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(open(&large).is_none());
    }
}
