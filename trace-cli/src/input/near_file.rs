//! Files whose names are nearly those that were asked for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::near::distance;

/// The most files of a directory whose names are compared.
const MAX_FILES: usize = 10_000;

/// The characters of a name for each of which that differ.
const CHARACTERS_A_MISTAKE: usize = 4;

/// Returns the file beside a missing one whose name differs least, and little.
pub(super) fn near_file(path: &Path) -> Option<PathBuf> {
    if path.exists() {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let most = name.chars().count() / CHARACTERS_A_MISTAKE;
    let parent = path.parent()?;
    let directory = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let files = fs::read_dir(directory).ok()?.take(MAX_FILES).flatten();
    let files = files.filter(|file| !file.path().is_dir()).map(|file| file.file_name());
    let names = files.filter_map(|file| file.into_string().ok());
    let near = names.map(|other| (distance(name, &other), other));
    let (_, nearest) = near.filter(|(distance, _)| *distance <= most).min()?;
    Some(parent.join(nearest))
}
