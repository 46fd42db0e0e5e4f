//! The functions of an object that have sleds, with a trace point each.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;

use object::{Object as _, ReadCache};
use trace_runtime::foreign::Site;
use trace_xray::layout::SLED_SECTION;
use trace_xray::map::Map;

use crate::selection::Selection;
use crate::sites;
use crate::sled::Kind;

/// A function with sleds.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) site: &'static Site,
    /// Its addresses in the file, up to the next function that has sleds.
    pub(crate) code: Range<u64>,
    /// Its sleds, with their addresses in the file.
    pub(crate) sleds: Vec<(u64, Kind)>,
}

/// Returns the selected functions of a program or shared library, or `None` if it has no sleds or
/// cannot be read.
pub(crate) fn read(path: &Path, selection: &Selection) -> Option<Vec<Function>> {
    if !has_sleds(path) {
        return None;
    }
    let map = Map::parse(&fs::read(path).ok()?).ok()?;
    Some(select(&map, selection))
}

/// Returns whether the file has sleds. Reads little of those that have none.
fn has_sleds(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let cache = ReadCache::new(file);
    object::File::parse(&cache).is_ok_and(|file| file.section_by_name(SLED_SECTION).is_some())
}

fn select(map: &Map, selection: &Selection) -> Vec<Function> {
    let mut sleds = sleds_by_function(map);
    let mut starts: Vec<u64> = map.functions().map(|(_, function)| function.address).collect();
    starts.sort_unstable();
    let end = |start| {
        let next = starts.partition_point(|other| *other <= start);
        starts.get(next).copied().unwrap_or(u64::MAX)
    };
    let functions = map.functions().filter_map(|(id, function)| {
        let start = function.address;
        let name = function.name().unwrap_or_else(|| format!("{start:#x}"));
        let sleds = sleds.remove(&id)?;
        let is_selected = selection.contains(&name);
        is_selected.then(|| Function { site: sites::make(&name), code: start..end(start), sleds })
    });
    functions.collect()
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
