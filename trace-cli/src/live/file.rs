//! A file that grows.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often a file is read again at its end.
const INTERVAL: Duration = Duration::from_millis(50);

/// A file that grows. An archive that is still recorded is `.NAME.partial`; it ends when it gets
/// its name. The end of another file is unknown.
#[derive(Debug)]
pub(crate) struct GrowingFile {
    file: File,
    /// The path of a partial archive.
    partial: Option<PathBuf>,
}

impl GrowingFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let partial = partial_path(path);
        match File::open(&partial) {
            Ok(file) => Ok(Self { file, partial: Some(partial) }),
            Err(_) => Ok(Self { file: File::open(path)?, partial: None }),
        }
    }

    /// Returns whether the file is a partial archive, which ends when it gets its name.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Reads bytes. Returns `Some(0)` if none come for `timeout`, and `None` at the end.
    pub(crate) fn read(
        &mut self,
        block: &mut [u8],
        timeout: Duration,
    ) -> io::Result<Option<usize>> {
        let is_complete = self.partial.as_ref().is_some_and(|partial| !partial.exists());
        match self.file.read(block)? {
            // What was written before the file got its name is read.
            0 if is_complete => Ok(None),
            0 => {
                thread::sleep(timeout.min(INTERVAL));
                Ok(Some(0))
            }
            read => Ok(Some(read)),
        }
    }
}

/// Returns the path of an archive that is still recorded.
pub(crate) fn partial_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".partial");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_partial_archive_ends_when_it_gets_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let (path, partial) =
            (directory.path().join("a.fxt"), directory.path().join(".a.fxt.partial"));
        let mut writer = File::create(&partial).unwrap();
        let mut file = GrowingFile::open(&path).unwrap();
        let mut block = [0; 8];
        assert_eq!(file.read(&mut block, Duration::ZERO).unwrap(), Some(0));
        writer.write_all(b"abc").unwrap();
        assert_eq!(file.read(&mut block, Duration::ZERO).unwrap(), Some(3));
        writer.write_all(b"de").unwrap();
        std::fs::rename(&partial, &path).unwrap();
        assert_eq!(file.read(&mut block, Duration::ZERO).unwrap(), Some(2));
        assert_eq!(file.read(&mut block, Duration::ZERO).unwrap(), None);
    }

    #[test]
    fn a_file_with_its_name_may_grow() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.fxt");
        assert!(GrowingFile::open(&path).is_err());
        std::fs::write(&path, "abc").unwrap();
        let mut file = GrowingFile::open(&path).unwrap();
        let mut block = [0; 8];
        assert_eq!(file.read(&mut block, Duration::ZERO).unwrap(), Some(3));
        assert_eq!(file.read(&mut block, Duration::ZERO).unwrap(), Some(0));
    }
}
