//! Making an archive of what a process left that traced itself and was killed.
//!
//! The process had an archive under way and a buffer, as files (see
//! [`trace_protocol::buffer::saved`]). The part of the archive that the buffer's header vouches for
//! is kept; what is in the buffer and not in that part follows.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use tempfile::NamedTempFile;
use trace_format::layout::ObjectType;
use trace_format::record::{Metadata, Record, Value};
use trace_format::Reader;
use trace_protocol::archive::{Closing, Identity};
use trace_protocol::buffer::consumer::Collector;
use trace_protocol::buffer::header::{Layout, LayoutError, HEADER_BYTES};
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::buffer::producer::LossStrings;
use trace_protocol::buffer::saved::{buffer_path, partial_path, SavedMark};
use trace_protocol::message::ClockSource;
use trace_protocol::words::as_bytes;

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
/// `output` is what the process was given as `TRACE_OUTPUT`, or one of the files beside it.
///
/// # Errors
/// [`RecoverError`]; nothing is written or removed then.
pub fn recover(output: &Path) -> Result<Recovered, RecoverError> {
    let output = original(output);
    let (buffer, partial) = (buffer_path(&output), partial_path(&output));
    let (_locked, mapping, layout) = open_buffer(&buffer)?;
    let (saved, length) = SavedMark::read(&mapping);
    let beginning = Beginning::read(&partial, length)?;
    let mut collector =
        Collector::new(mapping, layout, u64::from(beginning.identity.pid)).map_err(|_| {
            RecoverError::NotABuffer { path: buffer.clone(), reason: LayoutError::Sizes }
        })?;
    collector.skip_saved(saved);
    let mut words = Vec::new();
    collector.finish(&mut words);
    beginning.tell_losses(&collector, &mut words);
    let bytes = write(&output, &partial, length, &words)?;
    for left in [buffer, partial] {
        fs::remove_file(&left).map_err(|source| RecoverError::Io { path: left, source })?;
    }
    let stats = collector.stats();
    Ok(Recovered {
        archive: output,
        bytes,
        events: stats.events,
        open_scopes: stats.open_scopes(),
        dropped: collector.dropped(),
        refused: stats.rejections(),
    })
}

/// The name that the process was given, from that of one of its files.
fn original(path: &Path) -> PathBuf {
    let is_beside =
        path.extension().is_some_and(|extension| extension == "buffer" || extension == "partial");
    if is_beside && !buffer_path(path).exists() {
        return path.with_extension("");
    }
    path.to_owned()
}

/// The buffer, locked against a process that would use it.
fn open_buffer(path: &Path) -> Result<(File, ReadMapping, Layout), RecoverError> {
    let failed = |source| RecoverError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(RecoverError::Alive { path: path.to_owned() });
    }
    let size = file.metadata().map_err(failed)?.len() as usize;
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    let layout = Layout::from_header_bytes(&bytes, size)
        .map_err(|reason| RecoverError::NotABuffer { path: path.to_owned(), reason })?;
    let mapping = ReadMapping::map(file.as_fd(), size).map_err(failed)?;
    Ok((file, mapping, layout))
}

/// What the part of the archive that counts says.
struct Beginning {
    identity: Identity,
    /// Ticks of its first event.
    first: u64,
    /// Losses that it tells.
    told: u64,
}

impl Beginning {
    fn read(path: &Path, length: u64) -> Result<Self, RecoverError> {
        let nothing = || RecoverError::NothingRecorded { path: path.to_owned() };
        let file = File::open(path)
            .map_err(|source| RecoverError::Io { path: path.to_owned(), source })?;
        let mut reader = Reader::new(BufReader::new(file).take(length));
        let (mut process, mut name, mut first, mut told) = (None, String::new(), None, 0u64);
        while let Ok(Some(item)) = reader.next() {
            match &item.record {
                Record::Metadata(Metadata::ProviderInfo { name: given, .. }) => {
                    name = String::from_utf8_lossy(given).into_owned();
                }
                Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
                    process = Some(object.koid)
                }
                Record::Event(event) => {
                    first = first.or(Some(event.ticks));
                    if item.text(event.name) == LossStrings::NAME
                        && item.text(event.category) == LossStrings::CATEGORY
                    {
                        told = told
                            .saturating_add(event.arguments.iter().find_map(number).unwrap_or(0));
                    }
                }
                _ => {}
            }
        }
        let pid = process.and_then(|koid| u32::try_from(koid).ok()).ok_or_else(nothing)?;
        let identity = Identity {
            id: 1,
            process_name: name.clone(),
            name,
            pid,
            uid: 0,
            clock: ClockSource::CpuCounter,
        };
        Ok(Self { identity, first: first.ok_or_else(nothing)?, told })
    }

    /// Says what was lost and is not told yet. When it was is known only as: between the first
    /// event and the last.
    fn tell_losses(&self, collector: &Collector, words: &mut Vec<u64>) {
        let to = collector.stats().last_ticks.max(self.first);
        Closing::of(collector, self.told, self.first, to).write(words, &self.identity);
    }
}

fn number(argument: trace_format::record::Argument<'_>) -> Option<u64> {
    match argument.value {
        Value::Uint64(number) => Some(number),
        _ => None,
    }
}

/// Writes the archive under another name first. Returns its size.
fn write(output: &Path, partial: &Path, length: u64, words: &[u64]) -> Result<u64, RecoverError> {
    let failed = |source| RecoverError::Io { path: output.to_owned(), source };
    let directory =
        output.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
    let beginning = File::open(partial)
        .map_err(|source| RecoverError::Io { path: partial.to_owned(), source })?;
    io::copy(&mut beginning.take(length), &mut file).map_err(failed)?;
    file.write_all(as_bytes(words)).map_err(failed)?;
    let bytes = file.stream_position().map_err(failed)?;
    let readable = fs::metadata(partial).map_err(failed)?.permissions();
    file.as_file().set_permissions(readable).map_err(failed)?;
    file.persist(output).map_err(|error| failed(error.error))?;
    Ok(bytes)
}
