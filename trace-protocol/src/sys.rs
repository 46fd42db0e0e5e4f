//! System calls that the standard library does not provide, by subject.

pub mod counter;
pub(crate) mod fd_passing;
pub(crate) mod files;
pub(crate) mod membarrier;
pub(crate) mod memory_files;
pub(crate) mod pages;
pub(crate) mod region;
pub mod slices;
pub(crate) mod sockets;
pub mod thread_id;
pub(crate) mod time;

use std::io;

/// Converts the result of a system call to an [`io::Result`].
pub(crate) fn check<T: PartialOrd + From<i8>>(result: T) -> io::Result<T> {
    if result < T::from(0) {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Repeats `call` while signals interrupt it.
pub(crate) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
