//! The destination of an archive.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use trace_protocol::file::{Directory, NewFile, Place, Target};

use super::completed_parts::{CompletedParts, WrittenPart};
use super::has_records;
use super::parts::Parts;

use super::stream::StreamBounds;
use crate::error::{ArchiveError, ManagerError};

/// The destination of an archive.
#[derive(Debug)]
pub enum ArchiveTarget {
    /// A file. It is written as `.NAME.partial` in the same directory, and renamed when it is
    /// complete. An earlier archive is then renamed to `NAME.old`, or stays if the new one is
    /// empty. If the path names a pipe or a device, that is written directly.
    File(PathBuf),
    /// A new file that the caller has created, which gets its name as that of
    /// [`File`](Self::File).
    New(NewFile),
    /// An open pipe, socket or file, written from its current position.
    Stream(OwnedFd),
    /// As [`Stream`](Self::Stream), with limits for the case that it is not read.
    Bounded(OwnedFd, StreamBounds),
}

/// The new path of an earlier archive of the same name, once that is renamed.
pub(crate) type Backup = Arc<OnceLock<PathBuf>>;

/// An open archive.
#[derive(Debug)]
pub(crate) struct ArchiveOutput {
    pub(crate) file: Arc<File>,
    naming: Option<NewFile>,
    /// Whether an earlier file of its name is kept.
    has_backup: bool,
    backup: Backup,
    bounds: Option<StreamBounds>,
    /// The parts, if the archive is cut.
    parts: Option<Parts>,
}

impl ArchiveOutput {
    /// Opens the target. For a pipe, waits for its reader.
    pub(crate) fn open(target: ArchiveTarget) -> Result<Self, ManagerError> {
        match target {
            ArchiveTarget::Stream(fd) => Ok(Self::stream(File::from(fd))),
            ArchiveTarget::Bounded(fd, bounds) => {
                Ok(Self { bounds: Some(bounds), ..Self::stream(File::from(fd)) })
            }
            ArchiveTarget::New(file) => Ok(Self::new(file)),
            ArchiveTarget::File(path) => Self::create(&path)
                .map_err(|source| ManagerError::CreateArchive { path: path.clone(), source }),
        }
    }

    /// Opens the first part of an archive of which the newest `keep` parts are kept.
    pub(crate) fn open_parts(
        target: ArchiveTarget,
        keep: Option<u32>,
    ) -> Result<Self, ManagerError> {
        let failed = |path: PathBuf| move |source| ManagerError::CreateArchive { path, source };
        match target {
            ArchiveTarget::Stream(_) | ArchiveTarget::Bounded(..) => {
                Err(ManagerError::RotationOfStream)
            }
            ArchiveTarget::File(path) => match Target::find(&path).map_err(failed(path.clone()))? {
                Target::Node(_) => Err(ManagerError::RotationOfStream),
                Target::File(place) => Self::begin_parts(&place, None, keep).map_err(failed(path)),
            },
            ArchiveTarget::New(file) => {
                let place = file.place().clone();
                Self::begin_parts(&place, Some(file.file()), keep).map_err(failed(place.path()))
            }
        }
    }

    /// Creates the first part. The parts have the owner of the file `like`.
    fn begin_parts(place: &Place, like: Option<&File>, keep: Option<u32>) -> io::Result<Self> {
        let (mut parts, first) = Parts::begin(place, keep)?;
        if let Some(like) = like {
            parts.adopt_owner(like, &first)?;
        }
        Ok(Self { parts: Some(parts), ..Self::new(first) })
    }

    /// Creates the file of the next part.
    pub(crate) fn create_part(&mut self) -> io::Result<NewFile> {
        match &mut self.parts {
            Some(parts) => parts.create_next(),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Replaces the present part by the next one, and gives the former its final name.
    pub(crate) fn complete_part(
        &mut self,
        mut next: NewFile,
        written: WrittenPart,
    ) -> io::Result<()> {
        next.keep();
        self.file = Arc::clone(next.file());
        let Some(former) = self.naming.replace(next) else { return Ok(()) };
        self.name_part(former, written)
    }

    fn name_part(&mut self, part: NewFile, written: WrittenPart) -> io::Result<()> {
        let (place, file) = (part.place().clone(), Arc::clone(part.file()));
        if let Some(path) = part.complete_with_backup()? {
            // Only the first path is kept.
            let _ = self.backup.set(path);
        }
        if let Some(parts) = &self.parts {
            parts.completed(place, &file, written);
        }
        Ok(())
    }

    /// Returns the completed parts, if the archive is cut.
    pub(crate) fn parts(&self) -> CompletedParts {
        self.parts.as_ref().map(Parts::list).unwrap_or_default()
    }

    /// Creates a regular file, which replaces an earlier one. Fails if the path names a pipe or a
    /// device.
    pub(crate) fn create_file(path: &Path) -> io::Result<Self> {
        let output = Place::find(path).and_then(Self::create_partial)?;
        Ok(Self { has_backup: false, ..output })
    }

    fn create(path: &Path) -> io::Result<Self> {
        match Target::find(path)? {
            Target::File(place) => Self::create_partial(place),
            Target::Node(node) => node.open().map(Self::stream),
        }
    }

    fn create_partial(place: Place) -> io::Result<Self> {
        NewFile::findable(place).map(Self::new)
    }

    fn new(naming: NewFile) -> Self {
        let file = Arc::clone(naming.file());
        let (naming, backup) = (Some(naming), Backup::default());
        Self { file, naming, has_backup: true, backup, bounds: None, parts: None }
    }

    fn stream(file: File) -> Self {
        let file = Arc::new(file);
        let backup = Backup::default();
        Self { file, naming: None, has_backup: false, backup, bounds: None, parts: None }
    }

    /// Keeps the partial file if the manager ends without an error of its own.
    pub(crate) fn keep(&mut self) {
        self.naming.iter_mut().for_each(NewFile::keep);
    }

    /// Returns the open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the file if it can be read again.
    pub(crate) fn readable(&self) -> Option<Arc<File>> {
        self.naming.as_ref().map(|_| Arc::clone(&self.file))
    }

    /// Returns the limits of an output that another process reads.
    pub(crate) fn bounds(&self) -> Option<StreamBounds> {
        self.bounds
    }

    /// Returns the archive's names, if it is a new file.
    pub(crate) fn naming(&self) -> Option<&NewFile> {
        self.naming.as_ref()
    }

    /// Returns the archive's directory, if it has one.
    pub(crate) fn directory(&self) -> Option<Directory> {
        self.naming.as_ref().map(|naming| naming.place().directory().clone())
    }

    /// Returns the new path of the earlier archive. It is set when this is complete.
    pub(crate) fn backup(&self) -> Backup {
        Arc::clone(&self.backup)
    }

    /// Replaces written bytes.
    pub(crate) fn patch(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Returns whether an earlier archive of its name stays, because this one has no records.
    pub(crate) fn leaves_earlier(&self) -> bool {
        let has_earlier = |file: &NewFile| self.has_backup && file.place().has_content();
        let is_named = self.parts.is_none() && self.naming.as_ref().is_some_and(has_earlier);
        is_named && !has_records(&self.file)
    }

    /// Renames the complete archive to its final name.
    pub(crate) fn complete(mut self) -> io::Result<()> {
        match self.naming.take() {
            Some(file) if self.has_backup => self.name_part(file, WrittenPart::last()),
            Some(file) => file.complete(),
            None => Ok(()),
        }
    }

    /// Keeps the first `bytes`, which are complete records, under the partial name. Removes the
    /// file if `bytes` is 0.
    pub(crate) fn abandon(self, bytes: u64, source: io::Error) -> ArchiveError {
        let Self { file, naming, .. } = self;
        let kept = naming.and_then(|naming| {
            if bytes == 0 || file.set_len(bytes).is_err() {
                naming.discard();
                return None;
            }
            naming.partial_path().filter(|_| naming.is_there())
        });
        ArchiveError::new(source, bytes, kept)
    }

    /// Removes the present part.
    pub(crate) fn discard_part(self) {
        self.naming.into_iter().for_each(NewFile::discard);
    }

    /// Removes the archive, with all of its parts.
    pub(crate) fn discard(self) {
        self.parts.iter().for_each(Parts::remove_all);
        if let Some(naming) = self.naming {
            naming.discard();
        }
    }
}

impl AsFd for ArchiveOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn error() -> io::Error {
        io::Error::other("full")
    }

    fn files(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn an_abandoned_archive_keeps_its_complete_records() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = ArchiveOutput::create_file(&directory.path().join("a.fxt")).unwrap();
        output.keep();
        output.file().write_all(&[1; 20]).unwrap();
        let error = output.abandon(16, error());
        let kept = error.kept.unwrap();
        assert_eq!((error.bytes, std::fs::read(&kept).unwrap()), (16, vec![1; 16]));
        assert_eq!(kept, directory.path().join(".a.fxt.partial"));
    }

    #[test]
    fn an_abandoned_archive_without_records_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = ArchiveOutput::create_file(&directory.path().join("a.fxt")).unwrap();
        output.keep();
        output.file().write_all(&[1; 20]).unwrap();
        assert_eq!(output.abandon(0, error()).kept, None);
        assert!(files(directory.path()).is_empty());
    }

    #[test]
    fn a_discarded_archive_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = ArchiveOutput::create_file(&directory.path().join("a.fxt")).unwrap();
        output.keep();
        assert_eq!(files(directory.path()), [".a.fxt.partial"]);
        assert!(output.readable().is_some() && output.directory().is_some());
        output.discard();
        assert!(files(directory.path()).is_empty());
    }

    #[test]
    fn a_stream_has_neither_name_nor_directory() {
        let output = ArchiveOutput::open(ArchiveTarget::File("/dev/null".into())).unwrap();
        assert!(output.readable().is_none() && output.naming().is_none());
        assert!(output.directory().is_none());
        assert_eq!(output.abandon(16, error()).kept, None);
        assert!(ArchiveOutput::create_file(Path::new("/dev/null")).is_err());
    }
}
