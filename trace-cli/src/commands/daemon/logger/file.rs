//! The file with the messages of a daemon in the background.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name of the file.
pub(in super::super) const LOG: &str = "trace-daemon.log";

/// The size from which on the file is copied, and begins again.
const MOST_BYTES: u64 = 8 << 20;

/// The file with the daemon's messages, and a copy of the earlier ones beside it.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
}

/// Opens a log to append messages.
pub(in super::super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).create(true).append(true).mode(0o600).open(path)
}

impl LogFile {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(LOG);
        let file = open(&path)?;
        Ok(Self { size: file.metadata()?.len(), path, file })
    }

    /// Copies the file, and empties it. If that fails, its content stays. It is not renamed: it is
    /// also standard error, which has the messages of panics.
    fn begin_next(&mut self) -> io::Result<()> {
        let copy = self.path.with_extension("log.old");
        match fs::remove_file(&copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy)?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut copy)?;
        self.file.set_len(0)
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size >= MOST_BYTES {
            // Tried again after as many bytes.
            self.size = 0;
            let _ = self.begin_next();
        }
        let written = self.file.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_earlier_file_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = LogFile::open(directory.path()).unwrap();
        let mut standard_error = open(&directory.path().join(LOG)).unwrap();
        for _ in 0..3 {
            file.write_all(&vec![b'x'; MOST_BYTES as usize]).unwrap();
        }
        file.write_all(b"last").unwrap();
        standard_error.write_all(b" panic").unwrap();
        let size = |name| fs::metadata(directory.path().join(name)).unwrap().len();
        assert_eq!((size(LOG), size("trace-daemon.log.old")), (10, MOST_BYTES));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        let again = LogFile::open(directory.path()).unwrap();
        assert_eq!(again.size, 10, "a later daemon begins with the size of the file");
    }
}
