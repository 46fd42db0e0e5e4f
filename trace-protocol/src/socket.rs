//! Sockets, the file descriptors that travel over them, and the memory that both sides map.
//!
//! Everything here is close-on-exec from the start, so that a traced program's children inherit
//! nothing. Failures are [`std::io::Error`]s of the system call that failed.

mod address;
mod fd_passing;
mod listener;
mod memory_file;
mod stream;
#[cfg(test)]
mod tests;

pub use address::{default_socket_path, default_socket_path_from};
pub use listener::Listener;
pub use memory_file::MemoryFile;
pub use stream::{PeerCredentials, Socket};

use std::io;

/// The most file descriptors that one message carries.
pub const MAX_FDS: usize = 4;

/// Turns the result of a system call into a [`io::Result`].
fn check<T: PartialOrd + From<i8>>(result: T) -> io::Result<T> {
    if result < T::from(0) {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Repeats `call` while signals interrupt it.
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
