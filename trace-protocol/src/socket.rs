//! Sockets, file descriptors sent over them, and the memory that both sides map.
//!
//! All descriptors are close-on-exec from their creation, so that children of a traced program do
//! not inherit them. Errors are the [`std::io::Error`] of the system call that failed.

mod address;
mod listener;
mod memory_file;
mod process;
mod stream;
#[cfg(test)]
#[allow(unsafe_code)]
mod tests;

pub use address::{
    default_socket_path, default_socket_path_from, default_socket_paths, default_socket_paths_from,
};
pub use listener::Listener;
pub use memory_file::MemoryFile;
pub use process::exit_status;
pub use stream::{PeerCredentials, Socket};

pub use crate::sys::fd_passing::MAX_FDS;
