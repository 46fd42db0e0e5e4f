//! Making an archive of what a process left that traced itself and was killed.
//!
//! The process had an archive under way and a buffer, as files (see
//! [`trace_protocol::buffer::saved`]). The part of the archive that the buffer's header vouches for
//! is kept; what is in the buffer and not in that part follows.

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
use trace_format::layout::ObjectType;
use trace_format::record::{Metadata, Record, Value};
use trace_format::{Item, Reader};
use trace_protocol::archive::{Closing, Identity};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{Layout, LayoutError, HEADER_BYTES};
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::buffer::producer::LossStrings;
use trace_protocol::buffer::saved::{buffer_path, partial_path, SavedMark};
use trace_protocol::file::{NewFile, Place};
use trace_protocol::message::ClockSource;
use trace_protocol::words::as_bytes;

use crate::archive::OffsetReader;

/// What was recovered.
#[derive(Debug)]
pub struct Recovered {
    /// The archive that was made.
    pub archive: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Events that were in the buffer only.
    pub events: u64,
    /// Scopes that were open when the process was killed, or in an earlier buffer.
    pub open_scopes: u64,
    /// Records that the process had dropped.
    pub dropped: u64,
    /// Records in the buffer that are not well-formed.
    pub refused: u64,
    /// Bytes of the partial archive that are left out: they are missing, or not whole records.
    pub damaged: u64,
}

impl Recovered {
    /// Whether all is in the archive that the process had committed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.refused == 0 && self.damaged == 0
    }
}

/// Why nothing was recovered. What the process left is still there.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecoverError {
    /// A file could not be read or written.
    Io {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file is no trace buffer.
    NotABuffer {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: LayoutError,
    },
    /// The process lives, and writes the archive itself.
    Alive {
        /// Its buffer.
        path: PathBuf,
    },
    /// The process was killed before it recorded anything, or another process's files were mixed
    /// up.
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
                write!(f, "{}: the process that writes it is alive, and makes the archive itself when it ends", path.display())
            }
            Self::NothingRecorded { path } => {
                write!(
                    f,
                    "{} does not hold the beginning of an archive: nothing had been recorded",
                    path.display()
                )
            }
        }
    }
}

// The texts say what is wrong: there is no source to add.
impl std::error::Error for RecoverError {}

/// Makes the archive `output` of what the process left that traced itself into it, and then removes
/// that.
///
/// `output` is what the process was given as `TRACE_OUTPUT`, or one of the files beside it. Both
/// files must be this user's own. Of the partial archive whole records are taken.
///
/// # Errors
/// [`RecoverError`]; nothing is written or removed then.
pub fn recover(output: &Path) -> Result<Recovered, RecoverError> {
    let files = RecoverableFiles::find(&output_path(output))?;
    let (_locked, mapping, layout) = files.open_buffer()?;
    let (saved, length) = SavedMark::read(&mapping);
    let partial = files.open(&files.partial)?;
    let archive = PartialArchive::read(&partial, length)
        .ok_or_else(|| RecoverError::NothingRecorded { path: files.path(&files.partial) })?;
    let policy = IdentityPolicy::Own(u64::from(archive.identity.pid));
    let mut collector = Collector::new(mapping, layout, policy).map_err(|_| {
        RecoverError::NotABuffer { path: files.path(&files.buffer), reason: LayoutError::Sizes }
    })?;
    collector.skip_saved(saved);
    let mut words = Vec::new();
    collector.finish(&mut words);
    archive.report_losses(&collector, &mut words);
    let (path, bytes) = files.write(&partial, &archive.intact, &words)?;
    let stats = collector.stats();
    Ok(Recovered {
        archive: path,
        bytes,
        events: stats.events,
        open_scopes: stats.open_scopes(),
        dropped: collector.dropped(),
        refused: stats.rejections(),
        damaged: length - archive.intact.iter().map(|range| range.end - range.start).sum::<u64>(),
    })
}

/// The name that the process was given, from that of one of its files.
fn output_path(path: &Path) -> PathBuf {
    let is_beside =
        path.extension().is_some_and(|extension| extension == "buffer" || extension == "partial");
    if is_beside && !buffer_path(path).exists() {
        return path.with_extension("");
    }
    path.to_owned()
}

/// What a process left: where its archive goes, and the names of two files beside it.
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

    /// The buffer, locked against a process that would use it.
    fn open_buffer(&self) -> Result<(File, ReadMapping, Layout), RecoverError> {
        let (file, failed) = (self.open(&self.buffer)?, self.failed(&self.buffer));
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(RecoverError::Alive { path: self.path(&self.buffer) });
        }
        let size = file.metadata().map_err(&failed)?.len() as usize;
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).map_err(&failed)?;
        let layout = Layout::from_header_bytes(&bytes, size)
            .map_err(|reason| RecoverError::NotABuffer { path: self.path(&self.buffer), reason })?;
        let mapping = ReadMapping::map(file.as_fd(), size).map_err(&failed)?;
        Ok((file, mapping, layout))
    }

    /// Writes the archive, and then removes the files. Returns the archive's path and size.
    fn write(
        self,
        partial: &File,
        intact: &[Range<u64>],
        words: &[u64],
    ) -> Result<(PathBuf, u64), RecoverError> {
        let (directory, path) = (self.place.directory().clone(), self.place.path());
        let written = NewFile::unnamed(self.place).and_then(|archive| {
            let mut file: &File = archive.file();
            for range in intact {
                let length = range.end - range.start;
                io::copy(&mut OffsetReader::new(partial, range.start).take(length), &mut file)?;
            }
            file.write_all(as_bytes(words))?;
            let bytes = file.stream_position()?;
            archive.complete()?;
            directory.remove(&self.buffer)?;
            directory.remove(&self.partial)?;
            Ok(bytes)
        });
        match written {
            Ok(bytes) => Ok((path, bytes)),
            Err(source) => Err(RecoverError::Io { path, source }),
        }
    }
}

/// What the part of the archive that counts says.
struct PartialArchive {
    identity: Identity,
    /// Ticks of its first event.
    first: u64,
    /// Losses that it tells.
    reported: u64,
    /// Where its whole records are, in bytes.
    intact: Vec<Range<u64>>,
}

impl PartialArchive {
    /// Reads the first `length` bytes; `None` if they do not say whose archive it is.
    fn read(partial: &File, length: u64) -> Option<Self> {
        let mut reader = Reader::new(OffsetReader::new(partial, 0).take(length));
        let (mut scan, mut intact) = (ArchiveScan::default(), Vec::new());
        loop {
            let start = reader.offset();
            match reader.next() {
                Ok(Some(item)) => scan.take(&item),
                Ok(None) => break,
                Err(error) if error.is_fatal() => break,
                Err(_) => continue,
            }
            push_range(&mut intact, start..reader.offset());
        }
        scan.into_partial_archive(intact)
    }

    /// Says what was lost and is not told yet. When it was is known only as: between the first
    /// event and the last.
    fn report_losses(&self, collector: &Collector, words: &mut Vec<u64>) {
        let to = collector.stats().last_ticks.max(self.first);
        Closing::of(collector, self.reported, self.first, to).write(words, &self.identity);
    }
}

/// Adds a range, which may go on where the last one ends.
fn push_range(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// What the records have said so far.
#[derive(Default)]
struct ArchiveScan {
    process: Option<u64>,
    name: String,
    first: Option<u64>,
    reported: u64,
}

impl ArchiveScan {
    fn take(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Metadata(Metadata::ProviderInfo { name, .. }) => {
                self.name = String::from_utf8_lossy(name).into_owned();
            }
            Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
                self.process = Some(object.koid);
            }
            Record::Event(event) => {
                self.first = self.first.or(Some(event.ticks));
                if item.text(event.name) == LossStrings::NAME
                    && item.text(event.category) == LossStrings::CATEGORY
                {
                    let number = event.arguments.iter().find_map(number);
                    self.reported = self.reported.saturating_add(number.unwrap_or(0));
                }
            }
            _ => {}
        }
    }

    fn into_partial_archive(self, intact: Vec<Range<u64>>) -> Option<PartialArchive> {
        let identity = Identity {
            id: 1,
            process_name: self.name.clone(),
            name: self.name,
            pid: self.process.and_then(|koid| u32::try_from(koid).ok())?,
            uid: 0,
            clock: ClockSource::CpuCounter,
        };
        Some(PartialArchive { identity, first: self.first?, reported: self.reported, intact })
    }
}

fn number(argument: trace_format::record::Argument<'_>) -> Option<u64> {
    match argument.value {
        Value::Uint64(number) => Some(number),
        _ => None,
    }
}
