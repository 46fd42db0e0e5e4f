//! The files of objects.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use object::{Object as _, ObjectSymbol, ReadCache};
use trace_xray::layout::SLED_SECTION;

/// The size of a program or library that is read at most.
const MOST_BYTES: u64 = 1 << 30;

/// The functions that load libraries.
const LOADERS: [&[u8]; 2] = [b"dlopen", b"dlmopen"];

/// What tells a file from others that have had its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
    size: u64,
    /// The times of its last changes in seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What a file has, as far as it matters here.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// The bytes of a file that has sleds.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Whether it calls a function that loads libraries.
    pub(crate) loads_libraries: bool,
}

impl FileId {
    /// Returns the id of the file that has this name now.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}

/// Reads the file of an object. Reads little of those that have no sleds.
pub(crate) fn read(path: &Path) -> Content {
    let Some(file) = open(path) else { return Content::default() };
    let (has_sleds, loads_libraries) = scan(&file).unwrap_or_default();
    let bytes = has_sleds.then(|| whole(&file)).flatten();
    Content { bytes, loads_libraries }
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

/// Returns whether the file has sleds, and whether it loads libraries.
fn scan(file: &File) -> Option<(bool, bool)> {
    let cache = ReadCache::new(file);
    let file = object::File::parse(&cache).ok()?;
    let mut imports = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    let loads = imports.any(|symbol| symbol.name_bytes().is_ok_and(|it| LOADERS.contains(&it)));
    Some((file.section_by_name(SLED_SECTION).is_some(), loads))
}

fn whole(mut file: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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

    /// This test loads a library.
    #[test]
    fn programs_that_load_libraries_are_recognized() {
        let content = read(Path::new("/proc/self/exe"));
        assert!(content.loads_libraries && content.bytes.is_none());
        let directory = tempfile::tempdir().unwrap();
        let other = directory.path().join("true");
        std::fs::write(&other, "int main(void) { return 0; }").unwrap();
        let program = directory.path().join("program");
        let mut cc = Command::new("cc");
        let built = cc.args(["-x", "c"]).arg(&other).arg("-o").arg(&program).status().unwrap();
        assert!(built.success());
        assert!(!read(&program).loads_libraries);
    }

    #[test]
    fn a_file_that_replaces_another_has_another_id() {
        let directory = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
        std::fs::write(&a, "1").unwrap();
        std::fs::write(&b, "2").unwrap();
        let before = FileId::of(&a).unwrap();
        assert_eq!(FileId::of(&a), Some(before));
        std::fs::rename(&b, &a).unwrap();
        assert_ne!(FileId::of(&a), Some(before));
        assert_eq!(FileId::of(&b), None);
    }
}
