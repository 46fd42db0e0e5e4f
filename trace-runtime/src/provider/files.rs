//! The files of a process that traces itself: its own alone, while it lives.
//!
//! Children inherit `TRACE_OUTPUT`, and so two processes may be told to write the same archive. Who
//! comes first gets it, and holds a lock on its buffer that ends with the process; another one
//! writes beside it, under a name with its process id.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::saved::{buffer_path, partial_path};
use trace_protocol::words::as_bytes;

use super::sys;

/// The files of an archive that no other process writes.
#[derive(Debug)]
pub(super) struct Claim {
    /// The archive.
    pub(super) path: PathBuf,
    buffer: File,
}

impl Claim {
    /// Claims `path`, or a path like it if a living process has claimed that. What the user needs
    /// to know of that goes to `note`.
    pub(super) fn new(path: &Path, note: impl Fn(String)) -> io::Result<Self> {
        let (path, buffer) = match lock_buffer(path)? {
            Some(buffer) => (path.to_owned(), buffer),
            None => {
                let own = with_process_id(path);
                note(format!(
                    "another process traces into {}; this one traces into {}",
                    path.display(),
                    own.display()
                ));
                let buffer = lock_buffer(&own)?.ok_or(io::ErrorKind::WouldBlock)?;
                (own, buffer)
            }
        };
        let buffer = set_leftovers_aside(&path, buffer, note)?;
        Ok(Self { path, buffer })
    }

    /// Makes the buffer, with its blocks allocated, so that no store to it finds the disk full.
    pub(super) fn create_buffer(&self, layout: &Layout) -> io::Result<WriteMapping> {
        let size = layout.total_size();
        let length = libc::off_t::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.buffer.set_len(0)?;
        sys::allocate(self.buffer.as_fd(), length)?;
        self.buffer.write_all_at(as_bytes(&layout.to_header()), 0)?;
        WriteMapping::map(self.buffer.as_fd(), size)
    }
}

/// Opens the buffer of the archive `path` and locks it; `None` if another process holds the lock.
fn lock_buffer(path: &Path) -> io::Result<Option<File>> {
    let path = buffer_path(path);
    loop {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        let file = File::from(sys::high(file.into()));
        if !sys::lock(file.as_fd()) {
            return Ok(None);
        }
        // Whoever held the lock may have removed the file meanwhile.
        let found = file.metadata()?;
        if std::fs::metadata(&path)
            .is_ok_and(|named| (named.dev(), named.ino()) == (found.dev(), found.ino()))
        {
            return Ok(Some(file));
        }
    }
}

/// What a killed process left under this name gets another one, so that it can still be recovered.
/// Returns a buffer that is empty.
fn set_leftovers_aside(path: &Path, buffer: File, note: impl Fn(String)) -> io::Result<File> {
    if buffer.metadata()?.len() == 0 {
        return Ok(buffer);
    }
    let free = |aside: &PathBuf| {
        ![aside.clone(), buffer_path(aside), partial_path(aside)].iter().any(|path| path.exists())
    };
    let aside = (1u32..).map(|number| with_suffix(path, &format!("killed-{number}"))).find(free);
    let aside = aside.ok_or(io::ErrorKind::AlreadyExists)?;
    // Without the beginning of its archive a buffer is of no use; then there was nothing to
    // recover.
    if std::fs::rename(partial_path(path), partial_path(&aside)).is_ok() {
        std::fs::rename(buffer_path(path), buffer_path(&aside))?;
        note(format!(
            "an earlier process was killed while it traced into {}; trace recover {}",
            path.display(),
            aside.display()
        ));
    } else {
        std::fs::remove_file(buffer_path(path))?;
    }
    lock_buffer(path)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
}

/// `out.fxt` as `out-1234.fxt`.
fn with_process_id(path: &Path) -> PathBuf {
    with_suffix(path, &std::process::id().to_string())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push("-");
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_the_process_id_keeps_its_extension() {
        let id = std::process::id();
        assert_eq!(
            with_process_id(Path::new("a/out.fxt")),
            PathBuf::from(format!("a/out-{id}.fxt"))
        );
        assert_eq!(with_process_id(Path::new("out")), PathBuf::from(format!("out-{id}")));
    }
}
