//! Files that other processes name.

use std::fs::{File, OpenOptions};
use std::path::Path;

use object::ReadCache;

use crate::Limited;

/// The most bytes of headers and symbol tables that are read for a build id.
const MAX_HEADER_BYTES: u64 = 128 << 20;

/// Opens a regular file for reading, or returns `None`. The path is untrusted: a device is not
/// opened, and a FIFO is not waited for if it replaces a file.
#[must_use]
pub fn open(path: &Path) -> Option<File> {
    let is_file = || path.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = is_file().then(|| options.open(path).ok()).flatten()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// Returns the build id of the ELF file at `path`, if it has one.
#[must_use]
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let cache = ReadCache::new(open(path)?);
    let limited = Limited::new(&cache, MAX_HEADER_BYTES);
    let file = object::File::parse(&limited).ok()?;
    limited.build_id(&file).map(<[u8]>::to_vec)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns a file with a build id, in notes that claim this size.
    fn file_with_notes(size: u64) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        // A library for x86-64, version 1, without an entry point and sections.
        bytes.extend([3, 0, 62, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([64_u64, 0].map(u64::to_le_bytes).as_flattened());
        bytes.extend([0_u16, 0, 64, 56, 1, 64, 0, 0].map(u16::to_le_bytes).as_flattened());
        bytes.extend([object::elf::PT_NOTE, 4].map(u32::to_le_bytes).as_flattened());
        bytes.extend([120, 0, 0, size, size, 4].map(u64::to_le_bytes).as_flattened());
        // Lengths of the name and the id, the type, the name and the id.
        bytes.extend([4_u32, 4, 3].map(u32::to_le_bytes).as_flattened());
        bytes.extend(*b"GNU\0\x01\x02\x03\x04");
        bytes
    }

    #[test]
    fn endless_notes_have_no_build_id() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (size, expected) in [(20, Some(vec![1, 2, 3, 4])), (6 << 30, None)] {
            std::fs::write(file.path(), file_with_notes(size)).unwrap();
            file.as_file().set_len(120 + size).unwrap();
            assert_eq!(build_id(file.path()), expected, "{size}");
        }
    }

    #[test]
    fn a_fifo_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(build_id(&path).is_none() && open(&path).is_none());
        assert!(open(Path::new("/dev/zero")).is_none());
    }
}
