//! What can go wrong in the manager.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why the manager could not do what it was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum ManagerError {
    /// The registration socket could not be made.
    Bind {
        /// Where it was to be.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A session is active; there is one at a time.
    SessionActive,
    /// A buffer of no bytes was asked for.
    ZeroBufferSize,
    /// The buffer for one provider is larger than the memory that is left.
    BufferTooLarge {
        /// The buffer's size in bytes.
        size: u64,
        /// The memory available, in bytes.
        available: u64,
    },
    /// The archive could not be created.
    CreateArchive {
        /// Where it was to be.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// An alert has a trigger that takes snapshots, or one was asked for, and the archive is a pipe
    /// or a socket: what has been written cannot be read again.
    SnapshotOfStream,
    /// There is not the memory for a copy of the providers' buffers.
    SnapshotTooLarge {
        /// The buffers' size in bytes.
        size: u64,
        /// The memory available, in bytes.
        available: u64,
    },
    /// A snapshot could not be written, and nothing of it is left.
    Snapshot {
        /// Where it was to be.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The session ended before a snapshot could be taken: all is in its archive.
    SessionEnded,
    /// The event loop could not be set up.
    EventLoop(io::Error),
    /// The event loop ended.
    Ended,
}

impl fmt::Display for ManagerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { path, source } => {
                write!(f, "cannot listen for providers at {}: {source}", path.display())?;
                write!(f, "{}", bind_advice(source.kind()))
            }
            Self::SessionActive => {
                write!(f, "another session is active")
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
            Self::EventLoop(source) => write!(f, "cannot set up the event loop: {source}"),
            Self::Ended => write!(f, "the manager has ended"),
        }
    }
}

fn bind_advice(kind: io::ErrorKind) -> &'static str {
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

// The texts say what the kernel said: there is no source to add.
impl std::error::Error for ManagerError {}

/// Why an archive is not complete.
#[derive(Debug)]
pub struct ArchiveError {
    /// What the kernel said.
    pub source: io::Error,
    /// Bytes that were written before: whole records.
    pub bytes: u64,
    /// Where they are, if they can still be read.
    pub kept: Option<PathBuf>,
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the archive ends after {} bytes: {}", self.bytes, self.source)?;
        match &self.kept {
            Some(path) => write!(f, "\nhint: they are in {}", path.display()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ArchiveError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_is_not_complete_says_where_it_is() {
        let source = || io::Error::other("no space");
        let error = ArchiveError { source: source(), bytes: 48, kept: None };
        assert_eq!(error.to_string(), "the archive ends after 48 bytes: no space");
        let error =
            ArchiveError { kept: Some("/tmp/x.partial".into()), source: source(), bytes: 8 };
        let text = "the archive ends after 8 bytes: no space\nhint: they are in /tmp/x.partial";
        assert_eq!(error.to_string(), text);
    }
}
