//! The path of the manager's socket, and its address for the kernel.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of the manager's socket: the environment variable `TRACE_SOCKET`, else
/// `$XDG_RUNTIME_DIR/trace/manager.sock`, else `/run/trace/manager.sock`.
pub fn default_socket_path() -> PathBuf {
    default_socket_path_from(|name| env::var_os(name))
}

/// Returns the path by the rules of [`default_socket_path`], with the variables of `lookup`. An
/// empty variable is ignored.
pub fn default_socket_path_from(lookup: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let variable = |name| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = variable("TRACE_SOCKET") {
        return path;
    }
    let directory = variable("XDG_RUNTIME_DIR").unwrap_or_else(|| PathBuf::from("/run"));
    directory.join("trace/manager.sock")
}

/// The socket of the system's daemon.
const SYSTEM_SOCKET: &str = "/run/trace/manager.sock";

/// Returns the paths at which programs look for a manager, in order: that of
/// [`default_socket_path`], and the socket of the system's daemon unless `TRACE_SOCKET` is set.
pub fn default_socket_paths() -> Vec<PathBuf> {
    let (first, system) = default_socket_paths_from(|name| env::var_os(name));
    [first].into_iter().chain(system).collect()
}

/// Returns the paths of [`default_socket_paths`] with the variables of `lookup`. The second one is
/// missing if it is the first.
pub fn default_socket_paths_from(
    lookup: impl Fn(&str) -> Option<OsString>,
) -> (PathBuf, Option<PathBuf>) {
    let is_set = lookup("TRACE_SOCKET").is_some_and(|value| !value.is_empty());
    let (first, system) = (default_socket_path_from(lookup), PathBuf::from(SYSTEM_SOCKET));
    let is_other = !is_set && first != system;
    (first, is_other.then_some(system))
}

/// A socket address, and the file descriptor that must stay open while it is used.
///
/// `sun_path` has space for 107 bytes. A longer path is replaced by one in `/proc/thread-self/fd`
/// (proc(5); a thread may have its own descriptors) with an `O_PATH` descriptor: of the socket to
/// connect, of its directory to bind.
pub(super) struct Address {
    pub(super) raw: libc::sockaddr_un,
    pub(super) length: libc::socklen_t,
    _through: Option<File>,
}

impl Address {
    /// Returns the address of an existing socket.
    pub(super) fn to_connect(path: &Path) -> io::Result<Self> {
        if let Some(address) = Self::direct(path, None) {
            return Ok(address);
        }
        let socket = open_path(path, 0)?;
        let short = PathBuf::from(format!("/proc/thread-self/fd/{}", socket.as_raw_fd()));
        Self::direct(&short, Some(socket)).ok_or_else(too_long)
    }

    /// Returns the address of a socket that will be created.
    pub(super) fn to_bind(path: &Path) -> io::Result<Self> {
        if let Some(address) = Self::direct(path, None) {
            return Ok(address);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let directory = open_path(parent, libc::O_DIRECTORY)?;
        let short =
            PathBuf::from(format!("/proc/thread-self/fd/{}", directory.as_raw_fd())).join(name);
        Self::direct(&short, Some(directory)).ok_or_else(too_long)
    }

    /// Copies `path` to `sun_path`. Returns `None` if it does not fit with its zero byte. Allocates
    /// no memory, for the sake of a provider's service thread.
    fn direct(path: &Path, through: Option<File>) -> Option<Self> {
        let path = path.as_os_str().as_bytes();
        let mut raw = libc::sockaddr_un {
            sun_family: libc::AF_UNIX as libc::sa_family_t,
            sun_path: [0; 108],
        };
        let space = raw.sun_path.get_mut(..=path.len()).filter(|_| !path.contains(&0))?;
        for (place, byte) in space.iter_mut().zip(path) {
            *place = *byte as libc::c_char;
        }
        let length = mem::offset_of!(libc::sockaddr_un, sun_path) + space.len();
        Some(Self { raw, length: length as libc::socklen_t, _through: through })
    }
}

fn open_path(path: &Path, flags: libc::c_int) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | flags).open(path)
}

fn too_long() -> io::Error {
    io::Error::from_raw_os_error(libc::ENAMETOOLONG)
}
