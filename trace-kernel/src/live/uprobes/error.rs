//! Why a function has no events.

use std::fmt;
use std::io;
use std::path::PathBuf;

use trace_symbols::PlaceError;

/// Why the function of a category has no events.
#[derive(Debug)]
pub struct ProbeError {
    /// The category.
    pub category: String,
    /// The reason.
    pub fault: ProbeFault,
}

/// Why a function has no events.
#[derive(Debug)]
pub enum ProbeFault {
    /// The category has no `PATH:SYMBOL`.
    Syntax,
    /// There is no regular file at this path, or this user may not read it.
    NoFile(PathBuf),
    /// The file has no such code.
    Place(PlaceError),
    /// Only the start of a function has a return.
    ReturnOfPlace,
    /// The kernel has no uprobes.
    NoSupport,
    /// The kernel refuses the probe.
    Refused(io::Error),
}

impl ProbeFault {
    /// Returns what the user can do.
    pub(crate) fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Syntax => "name a program or library and its function, such as \
                 kernel:uprobe:/usr/bin/app:main"
                .to_owned(),
            Self::NoFile(_) => "a path with `:` must be that of an existing file".to_owned(),
            Self::Place(PlaceError::Stripped) => {
                "install its debug information, or use the address of the function: 0x1234"
                    .to_owned()
            }
            Self::Place(PlaceError::NoFunction) => {
                "inlined functions have no place of their own; `nm --defined-only --demangle` \
                 lists the functions"
                    .to_owned()
            }
            Self::Place(PlaceError::Indirect) => {
                "use the function that it chooses, or the address of that: 0x1234".to_owned()
            }
            Self::NoSupport => "use a kernel with CONFIG_UPROBE_EVENTS".to_owned(),
            Self::ReturnOfPlace => "use kernel:uprobe in place of kernel:uretprobe".to_owned(),
            Self::Place(_) | Self::Refused(_) => return None,
        })
    }
}

impl fmt::Display for ProbeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => write!(f, "PATH:SYMBOL is missing"),
            Self::NoFile(path) => write!(f, "{} is not a file that can be read", path.display()),
            Self::Place(error) => write!(f, "{error}"),
            Self::ReturnOfPlace => write!(f, "only the start of a function has a return"),
            Self::NoSupport => write!(f, "the kernel has no uprobes"),
            Self::Refused(error) => write!(f, "the kernel refuses it: {error}"),
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot trace {}: {}", self.category, self.fault)
    }
}

impl std::error::Error for ProbeError {}
