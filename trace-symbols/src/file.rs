//! Files that other processes name.

use std::fs::{File, OpenOptions};
use std::path::Path;

use object::Object;

/// Opens a regular file for reading, or returns `None`. The path is untrusted: a FIFO is not
/// waited for.
#[must_use]
pub fn open(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// Returns the build id of the ELF file at `path`, if it has one.
#[must_use]
pub fn build_id(path: &Path) -> Option<Vec<u8>> {
    let cache = object::ReadCache::new(open(path)?);
    let file = object::File::parse(&cache).ok()?;
    file.build_id().ok().flatten().map(<[u8]>::to_vec)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

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
