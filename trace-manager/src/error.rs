//! The errors of the manager.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of the manager.
#[derive(Debug)]
#[non_exhaustive]
pub enum ManagerError {
    /// The registration socket could not be created.
    Bind {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The configured buffer size is 0.
    ZeroBufferSize,
    /// The buffer of one provider exceeds the available memory.
    BufferTooLarge {
        /// The buffer's size in bytes.
        size: u64,
        /// The memory available, in bytes.
        available: u64,
    },
    /// The archive could not be created.
    CreateArchive {
        /// The path of the archive.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The configuration or the caller requires a snapshot, but the archive is a pipe or a socket,
    /// which cannot be read again.
    SnapshotOfStream,
    /// The configuration cuts the archive into parts, but it is a pipe or a socket.
    RotationOfStream,
    /// The configuration cuts the archive into parts, but the records are collected at the end.
    RotationMode,
    /// The size of a part is too small.
    RotationSize {
        /// The size in bytes.
        size: u64,
        /// The smallest size.
        least: u64,
    },
    /// The session records, so it cannot start again.
    NotStopped,
    /// The session has further sinks, whose categories cannot change.
    CategoriesOfSinks,
    /// The session's providers do not stream, so its records are collected at the end.
    FollowMode,
    /// The session has too many live streams.
    TooManyFollowers {
        /// The most streams of a session.
        limit: usize,
    },
    /// A copy of the providers' buffers exceeds the available memory.
    SnapshotTooLarge {
        /// The buffers' size in bytes.
        size: u64,
        /// The memory available, in bytes.
        available: u64,
    },
    /// A snapshot could not be written, and no file is left.
    Snapshot {
        /// The path of the snapshot.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The session ended before the snapshot: all records are in its archive.
    SessionEnded,
    /// The event loop could not be created.
    EventLoop(io::Error),
    /// The event loop has ended.
    Ended,
    /// A daemon has reported the error.
    Reported(String),
}

impl fmt::Display for ManagerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { path, source } => {
                write!(f, "cannot listen for providers at {}: {source}", path.display())?;
                write!(f, "{}", bind_hint(source.kind()))
            }
            Self::ZeroBufferSize => {
                write!(f, "the buffer size is 0\nhint: use at least 4096 bytes")
            }
            Self::BufferTooLarge { size, available } => write!(
                f,
                "a buffer of {size} bytes for each provider exceeds the {available} bytes of \
                 available memory\nhint: use a smaller buffer"
            ),
            Self::CreateArchive { path, source } => {
                write!(f, "cannot create the archive {}: {source}", path.display())
            }
            Self::SnapshotOfStream => write!(
                f,
                "snapshots require an archive that is a file, not a pipe"
            ),
            Self::RotationOfStream => write!(
                f,
                "rotation requires an archive that is a file, not a pipe"
            ),
            Self::RotationMode => write!(
                f,
                "rotation requires streaming or circular mode\nhint: oneshot mode keeps the first \
                 records"
            ),
            Self::RotationSize { size, least } => write!(
                f,
                "parts of {size} bytes are too small, because each part repeats names\nhint: use \
                 at least {}K",
                least >> 10
            ),
            Self::NotStopped => write!(f, "the session has not stopped"),
            Self::CategoriesOfSinks => {
                write!(f, "the categories of a session with further sinks cannot change")
            }
            Self::FollowMode => write!(
                f,
                "only a session in streaming mode, or with --shared, can be followed\nhint: take a \
                 snapshot"
            ),
            Self::TooManyFollowers { limit } => {
                write!(f, "the session has {limit} live streams, the limit")
            }
            Self::SnapshotTooLarge { size, available } => write!(
                f,
                "a copy of {size} bytes of buffers exceeds half of the {available} bytes of available memory"
            ),
            Self::Snapshot { path, source } => {
                write!(f, "cannot write the snapshot {}: {source}", path.display())
            }
            Self::SessionEnded => {
                write!(f, "the recording ended before: its records are in the archive")
            }
            Self::EventLoop(source) => write!(f, "cannot create the event loop: {source}"),
            Self::Ended => write!(f, "the manager has ended"),
            Self::Reported(error) => error.fmt(f),
        }
    }
}

fn bind_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => {
            "\nhint: another manager listens there, or a file is in the way: stop it, or name another \
             socket with TRACE_SOCKET"
        }
        io::ErrorKind::NotFound => "\nhint: create its directory",
        io::ErrorKind::PermissionDenied => {
            "\nhint: name a socket in a directory of your own, with --socket or TRACE_SOCKET"
        }
        _ => "",
    }
}

// The texts include the error of the system call, so there is no source.
impl std::error::Error for ManagerError {}

/// The error of an incomplete archive.
#[derive(Debug)]
pub struct ArchiveError {
    /// The error of the system call.
    pub source: io::Error,
    /// Bytes of complete records before the error; in that part if the archive is cut.
    pub bytes: u64,
    /// The path of the file with these records, if it can be read.
    pub kept: Option<PathBuf>,
    /// Whether it is a part of an archive that is cut.
    pub is_part: bool,
    /// The number of records that are not written. Names and metadata do not count.
    pub unwritten: u64,
}

impl ArchiveError {
    /// An error of an archive that is not cut, or of its first part.
    pub(crate) fn new(source: io::Error, bytes: u64, kept: Option<PathBuf>) -> Self {
        Self { source, bytes, kept, is_part: false, unwritten: 0 }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = if self.is_part { "a part of the archive" } else { "the archive" };
        write!(f, "{subject} ends after {} bytes: {}", self.bytes, self.source)?;
        match &self.kept {
            Some(path) => write!(f, "\nhint: its records are in {}", path.display()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ArchiveError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_an_incomplete_archive_has_its_path() {
        let error = |bytes, kept| ArchiveError::new(io::Error::other("no space"), bytes, kept);
        assert_eq!(error(48, None).to_string(), "the archive ends after 48 bytes: no space");
        let error = error(8, Some("/tmp/x.partial".into()));
        let text =
            "the archive ends after 8 bytes: no space\nhint: its records are in /tmp/x.partial";
        assert_eq!(error.to_string(), text);
        let error = ArchiveError { is_part: true, ..error };
        assert_eq!(error.to_string(), format!("a part of {text}"));
    }

    #[test]
    fn an_error_of_bind_has_a_hint() {
        let hint = |kind: io::ErrorKind| {
            let error = ManagerError::Bind { path: "/a/b".into(), source: kind.into() };
            let text = error.to_string();
            assert!(text.starts_with("cannot listen for providers at /a/b: "), "{text}");
            text.split_once("\nhint: ").map(|(_, hint)| hint.to_owned())
        };
        assert!(hint(io::ErrorKind::AddrInUse).unwrap().starts_with("another manager listens"));
        assert_eq!(hint(io::ErrorKind::NotFound).unwrap(), "create its directory");
        assert!(hint(io::ErrorKind::PermissionDenied).unwrap().starts_with("name a socket"));
        assert_eq!(hint(io::ErrorKind::OutOfMemory), None);
    }
}
