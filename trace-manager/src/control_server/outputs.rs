//! The files that sessions write. The archives of two sessions with the same file would replace
//! each other.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use trace_protocol::file::NewFile;

/// The device and the inode of a directory, and a name in it.
type File = (u64, u64, OsString);

/// The files that sessions of the daemon write.
#[derive(Debug, Clone, Default)]
pub(super) struct Outputs(Arc<Mutex<BTreeSet<File>>>);

/// A file that no other session writes until this is dropped.
#[derive(Debug)]
pub(super) struct OutputLease {
    outputs: Outputs,
    file: File,
}

impl Outputs {
    /// Reserves the final name of a file for a session. Returns `None` if another session has it.
    pub(super) fn reserve(&self, file: &NewFile) -> io::Result<Option<OutputLease>> {
        let place = file.place();
        let directory = place.directory().as_fd().try_clone_to_owned()?;
        let directory = fs::File::from(directory).metadata()?;
        let file = (directory.dev(), directory.ino(), place.name().to_owned());
        let is_free = self.change(|files| files.insert(file.clone()));
        Ok(is_free.then(|| OutputLease { outputs: self.clone(), file }))
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<File>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for OutputLease {
    fn drop(&mut self) {
        self.outputs.change(|files| files.remove(&self.file));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use trace_protocol::file::Place;

    use super::*;

    #[test]
    fn a_file_has_one_session_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir(path("a")).unwrap();
        std::fs::create_dir(path("b")).unwrap();
        symlink("a", path("link")).unwrap();
        let outputs = Outputs::default();
        let reserve = |path: &Path| {
            let file = NewFile::findable(Place::find(path).unwrap()).unwrap();
            outputs.reserve(&file).unwrap()
        };
        let first = reserve(&path("a/out.fxt")).unwrap();
        assert!(reserve(&path("a/out.fxt")).is_none());
        assert!(reserve(&path("link/out.fxt")).is_none(), "the same directory");
        let others = [path("a/out.1.fxt"), path("b/out.fxt")].map(|path| reserve(&path));
        assert!(others.iter().all(Option::is_some));
        drop(first);
        assert!(reserve(&path("a/out.fxt")).is_some());
    }
}
