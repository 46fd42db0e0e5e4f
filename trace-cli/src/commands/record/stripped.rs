//! Detection of programs whose functions have no names.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use trace_xray::map::Map;

use super::compiled_out::find;

/// Returns whether the file of the command `program` has functions with sleds, and none has a name.
pub(super) fn is_stripped(program: &OsStr) -> bool {
    let bytes = find(Path::new(program)).and_then(|path| fs::read(path).ok());
    let map = bytes.and_then(|bytes| Map::parse(&bytes).ok());
    map.is_some_and(|map| {
        let mut functions = map.functions().peekable();
        functions.peek().is_some() && functions.all(|(_, function)| function.name().is_none())
    })
}
