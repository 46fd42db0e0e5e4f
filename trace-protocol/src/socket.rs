//! Sockets, the file descriptors that travel over them, and the memory that both sides map.
//!
//! Everything here is close-on-exec from the start, so that a traced program's children inherit
//! nothing. Failures are [`std::io::Error`]s of the system call that failed.

mod address;
mod listener;
mod memory_file;
mod stream;
#[cfg(test)]
#[allow(unsafe_code)]
mod tests;

pub use address::{default_socket_path, default_socket_path_from};
pub use listener::Listener;
pub use memory_file::MemoryFile;
pub use stream::{PeerCredentials, Socket};

pub use crate::sys::fd_passing::MAX_FDS;
