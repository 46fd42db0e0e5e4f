//! Control groups: version 2.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fstatfs, OFlags};
use rustix::io::Errno;

use super::error::LiveError;

/// The type of the file system: `CGROUP2_SUPER_MAGIC` of `linux/magic.h`.
const CGROUP2: u64 = 0x6367_7270;

/// The mounts of this process.
const MOUNTS: &str = "/proc/self/mounts";

/// A control group with the groups below it.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    directory: File,
}

impl Cgroup {
    /// Opens a control group: its directory, or its path as `/proc/PID/cgroup` has it.
    ///
    /// # Errors
    ///
    /// There is none, or this process may not read it.
    pub fn open(path: &Path) -> Result<Self, LiveError> {
        let within = fs::read_to_string(MOUNTS).ok().and_then(|mounts| {
            let root = root(&mounts)?;
            Some(Path::new(&root).join(path.strip_prefix("/").unwrap_or(path)))
        });
        let failed = |error| LiveError::Cgroup(path.to_owned(), error);
        let mut result = Err(failed(io::ErrorKind::NotFound.into()));
        for candidate in [Some(path.to_owned()), within].into_iter().flatten() {
            match Self::of_directory(candidate) {
                Ok(cgroup) => return Ok(cgroup),
                // A group that exists says more.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    result = Err(failed(error))
                }
                Err(_) => {}
            }
        }
        result
    }

    fn of_directory(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY.bits() as i32;
        let directory = OpenOptions::new().read(true).custom_flags(flags).open(&path)?;
        if fstatfs(&directory)?.f_type as u64 != CGROUP2 {
            let reason = "is not a control group of version 2";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(Self { path: fs::canonicalize(path)?, directory })
    }

    /// Returns its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the descriptor of its directory.
    pub(super) fn descriptor(&self) -> RawFd {
        self.directory.as_raw_fd()
    }

    /// Returns the threads that are in it and in the groups below; none if it has been removed.
    pub(super) fn threads(&self) -> io::Result<HashSet<u64>> {
        let mut threads = HashSet::new();
        add_threads(&self.path, &mut threads)?;
        Ok(threads)
    }
}

/// Adds the threads of a group, and of those below. A group may be removed meanwhile.
fn add_threads(group: &Path, threads: &mut HashSet<u64>) -> io::Result<()> {
    match fs::read_to_string(group.join("cgroup.threads")) {
        // Threads of other pid namespaces are 0.
        Ok(list) => {
            let ids = list.lines().filter_map(|line| line.parse::<u64>().ok());
            threads.extend(ids.filter(|id| *id != 0));
        }
        Err(error) if is_removed(&error) => return Ok(()),
        Err(error) => return Err(error),
    }
    let entries = match fs::read_dir(group) {
        Err(error) if is_removed(&error) => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_threads(&entry.path(), threads)?;
        }
    }
    Ok(())
}

fn is_removed(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NODEV))
}

/// Returns where control groups of version 2 are mounted, of the lines of `/proc/self/mounts`.
fn root(mounts: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind) = (fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| path.replace("\\040", " "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_version_2() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
            cgroup2 /sys/fs/cgroup/a\\040b cgroup2 rw 0 0\n";
        assert_eq!(root(mounts).as_deref(), Some("/sys/fs/cgroup/a b"));
        assert_eq!(root("proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn other_directories_are_no_groups() {
        for (path, text) in [
            ("/tmp", "control group of version 2"),
            ("/none/at/all", "cannot use the control group /none/at/all"),
        ] {
            let error = Cgroup::open(Path::new(path)).unwrap_err();
            let source = std::error::Error::source(&error).map(ToString::to_string);
            let message = format!("{error}: {}", source.unwrap_or_default());
            assert!(message.contains(text), "{message}");
        }
    }

    /// The group of this process, where there are groups of version 2.
    #[test]
    fn the_group_of_this_process_has_its_threads() {
        let Ok(own) = fs::read_to_string("/proc/self/cgroup") else { return };
        let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else { return };
        let Ok(cgroup) = Cgroup::open(Path::new(path)) else { return };
        let threads = cgroup.threads().unwrap();
        assert!(threads.contains(&u64::from(std::process::id())), "{path} {threads:?}");
    }
}
