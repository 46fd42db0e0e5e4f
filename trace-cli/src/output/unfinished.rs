//! A file that is not complete.
//!
//! It has no name: of a process that is killed nothing is left. Some file
//! systems (NFS, and what is in user space) have no such files; there it has
//! another name in the same directory.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{linkat, open, AtFlags, Mode, OFlags, CWD};
use tempfile::{Builder, NamedTempFile};

/// Where the kernel has names for what has none.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A file that is not complete.
#[derive(Debug)]
pub(super) enum Unfinished {
    Unnamed(File),
    Named(NamedTempFile),
}

impl Unfinished {
    /// Makes one that can get a name in `directory`.
    pub(super) fn create_in(directory: &Path, permissions: &Permissions) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(permissions.mode());
        match open(directory, flags, mode) {
            Ok(file) if Path::new(DESCRIPTORS).exists() => Ok(Self::Unnamed(file.into())),
            _ => builder().permissions(permissions.clone()).tempfile_in(directory).map(Self::Named),
        }
    }

    /// Gives it its name, `target` in `directory`, which another file may have.
    pub(super) fn persist(self, directory: &Path, target: &Path) -> io::Result<()> {
        let file = match self {
            Self::Named(file) => return file.persist(target).map(drop).map_err(io::Error::from),
            Self::Unnamed(file) => file,
        };
        let source = format!("{DESCRIPTORS}/{}", file.as_raw_fd());
        let link = |path: &Path| -> io::Result<()> {
            Ok(linkat(CWD, &*source, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
        };
        match link(target) {
            // A link replaces nothing, but a change of names does.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Ok(builder().make_in(directory, link)?.into_temp_path().persist(target)?)
            }
            done => done,
        }
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file_mut(),
        }
    }
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".trace-").suffix(".tmp");
    builder
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn with_or_without_a_name_it_replaces_what_was_there() {
        let place = tempfile::tempdir().unwrap();
        let (directory, target) = (place.path(), place.path().join("out"));
        let permissions = Permissions::from_mode(0o600);
        for content in ["first", "second", "third"] {
            let named = builder().tempfile_in(directory).map(Unfinished::Named);
            for file in [Unfinished::create_in(directory, &permissions), named] {
                let mut file = file.unwrap();
                file.write_all(content.as_bytes()).unwrap();
                file.persist(directory, &target).unwrap();
                assert_eq!(fs::read_to_string(&target).unwrap(), content);
            }
        }
        assert_eq!(fs::read_dir(directory).unwrap().count(), 1);
    }
}
