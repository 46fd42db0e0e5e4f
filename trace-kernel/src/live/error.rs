//! Reasons why the kernel cannot be traced.

use std::fmt;
use std::io;
use std::path::PathBuf;

use trace_provider::NotTraced;

use crate::format::FormatError;

/// Why the kernel cannot be traced.
#[derive(Debug)]
pub enum LiveError {
    /// The file system tracefs is not mounted.
    NoTracefs,
    /// This user may not use tracefs.
    Denied(PathBuf),
    /// The kernel has no such event: `SYSTEM/NAME`.
    NoEvent(String),
    /// The kernel has none of the events of a category.
    NoEvents(String),
    /// A file of tracefs cannot be read or written.
    File(PathBuf, io::Error),
    /// A file of tracefs has an unknown format.
    Format(PathBuf, FormatError),
    /// The process cannot be a provider.
    Provider(NotTraced),
    /// The system has no threads.
    Thread(io::Error),
}

impl LiveError {
    /// Returns the error of a file of tracefs.
    pub(super) fn file(path: impl Into<PathBuf>, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied(path.into()),
            _ => Self::File(path.into(), error),
        }
    }

    /// Returns what the user can do, as a command or a sentence.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NoTracefs => {
                "as root, run: mount -t tracefs nodev /sys/kernel/tracing; containers need it \
                 from their host"
                    .to_owned()
            }
            Self::Denied(_) => "record as root: tracefs is for root only".to_owned(),
            Self::NoEvent(_) | Self::NoEvents(_) => {
                "the kernel's events are in /sys/kernel/tracing/available_events".to_owned()
            }
            _ => return None,
        })
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTracefs => write!(f, "cannot trace the kernel: tracefs is not mounted"),
            Self::Denied(path) => {
                write!(f, "cannot trace the kernel: {}: permission denied", path.display())
            }
            Self::NoEvent(event) => write!(f, "the kernel has no event {event}"),
            Self::NoEvents(category) => {
                write!(f, "the kernel has no events of the category {category}")
            }
            Self::File(path, _) | Self::Format(path, _) => {
                write!(f, "cannot trace the kernel: {}", path.display())
            }
            Self::Provider(_) | Self::Thread(_) => write!(f, "cannot trace the kernel"),
        }
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(_, error) | Self::Thread(error) => Some(error),
            Self::Format(_, error) => Some(error),
            Self::Provider(error) => Some(error),
            _ => None,
        }
    }
}
