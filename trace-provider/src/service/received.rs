//! Checks of a manager's messages: none of them can end the program, or make it grow without limit.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use trace_protocol::buffer::header::{BufferingMode, Layout, HEADER_BYTES};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::categories;
use trace_protocol::message::{DurationLimit, MAX_LIMITS, MAX_LIMIT_BYTES};
use trace_protocol::socket::{MemoryFile, Socket};

use crate::engine::problem::Problem;
use crate::sys;

/// The connection must be closed.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) Option<Problem>);

impl Closed {
    /// The manager has closed the connection, or does not read.
    pub(crate) const BY_MANAGER: Self = Self(None);

    /// The manager has violated the protocol.
    pub(crate) fn because(problem: Problem) -> Self {
        Self(Some(problem))
    }
}

impl From<Problem> for Closed {
    fn from(problem: Problem) -> Self {
        Self::because(problem)
    }
}

/// The number of descriptors of a message: buffer and packet socket.
pub(crate) const DESCRIPTORS: usize = 2;

/// Maps the manager's buffer. Fails if it is not a buffer in this mode.
pub(crate) fn map_buffer(
    memory: OwnedFd,
    mode: BufferingMode,
) -> Result<(WriteMapping, Layout), Problem> {
    let file = File::from(memory);
    if !MemoryFile::is_sealed(file.as_fd()) {
        return Err("its buffer is not sealed memory");
    }
    let found = file.metadata().map_err(|_| "its buffer cannot be examined")?;
    // The manager has allocated the memory, so it cannot make this process allocate it.
    if found.blocks() < found.len().div_ceil(512) {
        return Err("its buffer has no memory");
    }
    let size = usize::try_from(found.len()).map_err(|_| "its buffer is too large")?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0).map_err(|_| "its buffer has no header")?;
    let layout = Layout::from_header_bytes(&header, size).ok();
    let layout = layout.filter(|layout| layout.mode() == mode).ok_or("its buffer has no header")?;
    let mapping =
        WriteMapping::map(file.as_fd(), size).map_err(|_| "its buffer cannot be mapped")?;
    Ok((mapping, layout))
}

/// Takes the packet socket. Fails if it is another type of socket.
pub(crate) fn packet_socket(socket: OwnedFd) -> Result<Socket, Problem> {
    Socket::from_packets(sys::high(socket)).map_err(|_| "its packet socket is not one")
}

/// Checks the size of a session's conditions.
pub(crate) fn check_conditions(limits: &[DurationLimit]) -> Result<(), Problem> {
    let bytes: usize = limits.iter().map(|it| it.category.len() + it.name.len()).sum();
    match limits.len() <= MAX_LIMITS && bytes <= MAX_LIMIT_BYTES {
        true => Ok(()),
        false => Err("its list of conditions is too long"),
    }
}

/// Checks the size of a session's category patterns.
pub(crate) fn check_patterns(patterns: &[String]) -> Result<(), Problem> {
    match categories::are_accepted(patterns) {
        true => Ok(()),
        false => Err("its lists of categories are too long"),
    }
}
