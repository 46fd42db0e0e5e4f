//! Recovers the archive of a process that traced itself and was killed.
//!
//! Such a process has two files: a partial archive and a buffer (see
//! [`trace_protocol::buffer::saved`]). The recovered archive has the part of the partial archive
//! that the buffer's header declares as written, and then the other records of the buffer.

mod partial_archive;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use trace_format::encode::append;
use trace_format::layout::ProviderEvent;
use trace_format::record::{Metadata, Record};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{Layout, LayoutError, HEADER_BYTES, HEADER_SIZE};
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::buffer::saved::{buffer_path, partial_path, SavedMark};
use trace_protocol::file::{random_name, Directory, NewFile, Place};
use trace_protocol::words::as_bytes;

use self::partial_archive::PartialArchive;
use crate::output::{has_records, OffsetReader};

/// The result of a recovery.
#[derive(Debug)]
pub struct Recovered {
    /// The path of the recovered archive.
    pub archive: PathBuf,
    /// Its size in bytes. 0 if nothing was recorded and an earlier archive stays.
    pub bytes: u64,
    /// Events that were only in the buffer.
    pub events: u64,
    /// Scopes that were open when the process was killed, or whose begin is in an earlier buffer.
    pub open_scopes: u64,
    /// Records that the process dropped.
    pub dropped: u64,
    /// The numbers of dropped records by reason, without reasons that did not occur.
    pub dropped_by_reason: Vec<(LossReason, u64)>,
    /// Malformed records in the buffer.
    pub refused: u64,
    /// Bytes of the partial archive that are missing or not complete records.
    pub damaged: u64,
    /// The paths of the process's files that are kept: damaged ones, and those that could not be
    /// removed.
    pub kept: Vec<PathBuf>,
    /// Whether the buffer was memory, so that its records are lost with the process.
    pub is_buffer_lost: bool,
}

impl Recovered {
    /// Returns whether the archive has all records that the process committed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused == 0 && self.damaged == 0 && !self.is_buffer_lost
    }
}

/// The error of a recovery. The files of the process are still there.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecoverError {
    /// A file could not be read or written.
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The file is not a trace buffer.
    NotABuffer {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        reason: LayoutError,
    },
    /// The process is alive, and will write the archive itself.
    Alive {
        /// The path of its buffer.
        path: PathBuf,
    },
    /// The process was killed before it recorded anything, or the files are of different processes.
    NothingRecorded {
        /// The partial archive.
        path: PathBuf,
    },
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotABuffer { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Alive { path } => {
                write!(
                    f,
                    "{}: the process is alive, and writes the archive itself when it ends",
                    path.display()
                )
            }
            Self::NothingRecorded { path } => {
                write!(
                    f,
                    "{} is not the beginning of an archive: nothing was recorded",
                    path.display()
                )
            }
        }
    }
}

// The texts include the error of the system call, so there is no source.
impl std::error::Error for RecoverError {}

/// Recovers the archive `output` of a killed process that traced itself, and then removes the files
/// of the process. A damaged one is kept as `NAME.damaged`.
///
/// `output` is the value of the process's `TRACE_OUTPUT`, or the path of one of its files. Both
/// files must belong to this user. Only complete records of the partial archive are used.
///
/// # Errors
/// [`RecoverError`]; no file is written or removed then.
pub fn recover(output: &Path) -> Result<Recovered, RecoverError> {
    let files = RecoverableFiles::find(&output_path(output))?;
    let (_locked, mapping, layout) = files.open_buffer()?;
    let (saved, length) = SavedMark::read(&mapping);
    let partial = files.open(&files.partial)?;
    let archive = PartialArchive::read(&partial, length)
        .ok_or_else(|| RecoverError::NothingRecorded { path: files.path(&files.partial) })?;
    let mut words = Vec::new();
    let collector = match layout {
        Some(layout) => {
            let policy = IdentityPolicy::Own(u64::from(archive.identity.pid));
            let mut collector = Collector::new(mapping, layout, policy)
                .map_err(|_| files.not_a_buffer(LayoutError::Sizes))?;
            collector.skip_saved(saved);
            collector.finish(&mut words);
            archive.close(&collector, archive.damaged(length) == 0, &mut words);
            Some(collector)
        }
        None => {
            report_lost_buffer(&mut words);
            None
        }
    };
    let damaged = archive.damaged(length);
    archive.report_damage(damaged, &mut words);
    let stats = collector.as_ref().map(Collector::stats);
    let refused = stats.map_or(0, |stats| stats.rejections());
    let damage = Damage { partial: damaged != 0, buffer: refused != 0 };
    let written = files.write(&partial, &archive.intact, &words, damage)?;
    Ok(Recovered {
        archive: written.path,
        bytes: written.bytes,
        kept: written.kept,
        events: stats.map_or(0, |stats| stats.events),
        open_scopes: stats.map_or(0, |stats| stats.open_scopes()),
        dropped: collector.as_ref().map_or(0, Collector::dropped),
        dropped_by_reason: collector.as_ref().map_or_else(Vec::new, dropped_by_reason),
        refused,
        damaged,
        is_buffer_lost: collector.is_none(),
    })
}

fn dropped_by_reason(collector: &Collector) -> Vec<(LossReason, u64)> {
    let mut dropped = collector.dropped_by_reason();
    dropped.retain(|(_, number)| *number != 0);
    dropped
}

/// Appends the report that an unknown number of records is missing.
fn report_lost_buffer(words: &mut Vec<u64>) {
    let event = Metadata::ProviderEvent { id: 1, event: ProviderEvent::BUFFER_FULL };
    // It has two words, and so is not too long.
    let _ = append(words, &Record::Metadata(event));
}

/// Returns the output of the process, given that path or the path of one of its files.
fn output_path(path: &Path) -> PathBuf {
    let is_beside =
        path.extension().is_some_and(|extension| extension == "buffer" || extension == "partial");
    if is_beside && !buffer_path(path).exists() {
        return path.with_extension("");
    }
    path.to_owned()
}

/// The files of a process that are damaged.
struct Damage {
    partial: bool,
    buffer: bool,
}

/// A written archive.
struct Written {
    path: PathBuf,
    bytes: u64,
    kept: Vec<PathBuf>,
}

/// The files of a killed process: the place of its archive, and the names of two files beside it.
struct RecoverableFiles {
    place: Place,
    buffer: OsString,
    partial: OsString,
}

impl RecoverableFiles {
    fn find(output: &Path) -> Result<Self, RecoverError> {
        let place = Place::find(output)
            .map_err(|source| RecoverError::Io { path: output.to_owned(), source })?;
        let name = Path::new(place.name());
        let (buffer, partial) = (buffer_path(name).into(), partial_path(name).into());
        Ok(Self { place, buffer, partial })
    }

    fn path(&self, name: &OsStr) -> PathBuf {
        self.place.directory().path().join(name)
    }

    fn failed<'a>(&'a self, name: &'a OsStr) -> impl Fn(io::Error) -> RecoverError + 'a {
        move |source| RecoverError::Io { path: self.path(name), source }
    }

    fn open(&self, name: &OsStr) -> Result<File, RecoverError> {
        self.place.directory().open_own(name).map_err(self.failed(name))
    }

    fn not_a_buffer(&self, reason: LayoutError) -> RecoverError {
        RecoverError::NotABuffer { path: self.path(&self.buffer), reason }
    }

    /// Opens the buffer and locks it against other processes. Returns no layout if the file has
    /// only the header.
    fn open_buffer(&self) -> Result<(File, ReadMapping, Option<Layout>), RecoverError> {
        let (file, failed) = (self.open(&self.buffer)?, self.failed(&self.buffer));
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(RecoverError::Alive { path: self.path(&self.buffer) });
        }
        let size = file.metadata().map_err(&failed)?.len() as usize;
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).map_err(&failed)?;
        let layout = match Layout::from_header_bytes(&bytes, size) {
            // The header is that of a larger buffer.
            Err(LayoutError::Sizes) if size == HEADER_SIZE => None,
            layout => Some(layout.map_err(|reason| self.not_a_buffer(reason))?),
        };
        let mapping = ReadMapping::map(file.as_fd(), size).map_err(&failed)?;
        Ok((file, mapping, layout))
    }

    /// Writes the archive. Then removes the files, or renames them if they are damaged.
    fn write(
        self,
        partial: &File,
        intact: &[Range<u64>],
        words: &[u64],
        damage: Damage,
    ) -> Result<Written, RecoverError> {
        let (directory, path) = (self.place.directory().clone(), self.place.path());
        let written = NewFile::unnamed(self.place).and_then(|archive| {
            let mut file: &File = archive.file();
            for range in intact {
                let length = range.end - range.start;
                io::copy(&mut OffsetReader::new(partial, range.start).take(length), &mut file)?;
            }
            file.write_all(as_bytes(words))?;
            let mut bytes = file.stream_position()?;
            if archive.place().has_content() && !has_records(file) {
                archive.discard();
                bytes = 0;
            } else {
                archive.complete_with_backup()?;
            }
            // The archive is complete, whether or not these files can be removed.
            let partial = put_away(&directory, &self.partial, damage.partial);
            let buffer = put_away(&directory, &self.buffer, damage.buffer);
            Ok((bytes, [buffer, partial].into_iter().flatten().collect()))
        });
        match written {
            Ok((bytes, kept)) => Ok(Written { path, bytes, kept }),
            Err(source) => Err(RecoverError::Io { path, source }),
        }
    }
}

/// Removes a file, or renames it if it is damaged. Returns its path if it is still there.
fn put_away(directory: &Directory, name: &OsStr, damaged: bool) -> Option<PathBuf> {
    let kept = match damaged {
        true => rename_damaged(directory, name),
        false => directory.remove(name).map(|()| None),
    };
    let path = |name: &OsStr| directory.path().join(name);
    match kept {
        Ok(kept) => kept.map(|kept| path(&kept)),
        Err(_) => directory.has(name).then(|| path(name)),
    }
}

/// Renames a damaged file. Returns its new name.
fn rename_damaged(directory: &Directory, name: &OsStr) -> io::Result<Option<OsString>> {
    let mut kept = name.to_owned();
    kept.push(".damaged");
    if directory.has(&kept) {
        kept.push(".");
        kept = random_name(&kept, "");
    }
    directory.rename(name, &kept).map(|()| Some(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_removed_is_kept() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = Directory::open(temporary.path()).unwrap();
        std::fs::create_dir(temporary.path().join("a")).unwrap();
        std::fs::write(temporary.path().join("b"), "x").unwrap();
        let put_away = |name: &str, damaged| put_away(&directory, name.as_ref(), damaged);
        assert_eq!(put_away("a", false), Some(directory.path().join("a")));
        assert_eq!(put_away("b", true), Some(directory.path().join("b.damaged")));
        assert_eq!(put_away("b.damaged", false), None);
        assert_eq!(put_away("gone", true), None);
    }
}
