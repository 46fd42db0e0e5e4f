//! Maps of XRay logs.

use std::path::{Path, PathBuf};

/// Returns the file that may be the map of a log: for `NAME.xray`, `NAME.map` if there is one. It
/// may be a file of another kind, such as the map of a linker.
#[must_use]
pub fn map_beside(log: &Path) -> Option<PathBuf> {
    let is_log = log.extension().is_some_and(|extension| extension == "xray");
    let map = log.with_extension("map");
    (is_log && map.is_file()).then_some(map)
}
