//! Memory that the service writes, and its clients can only read.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{fallocate, fcntl_add_seals, memfd_create, FallocateFlags, MemfdFlags, SealFlags};
use trace_protocol::buffer::memory::WriteMapping;

/// A file in memory, whose only writable mapping is that of the service.
#[derive(Debug)]
pub(super) struct Chunk {
    file: File,
    memory: WriteMapping,
}

impl Chunk {
    /// Creates zeros, a multiple of 8 bytes. The memory is allocated now.
    pub(super) fn new(bytes: u64) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("trace-insn", flags)?);
        file.set_len(bytes)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
        let size = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        let memory = WriteMapping::map(file.as_fd(), size)?;
        // A client of this user can open the file for writing: the kernel then refuses each write
        // and each writable mapping, but not those of the mapping that exists.
        let sealed = SealFlags::FUTURE_WRITE | SealFlags::SHRINK | SealFlags::GROW;
        fcntl_add_seals(&file, sealed | SealFlags::SEAL)?;
        Ok(Self { file, memory })
    }

    /// Writes bytes at `offset`, as many as fit.
    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) {
        self.memory.write_at(bytes, usize::try_from(offset).unwrap_or(usize::MAX));
    }

    /// Returns a descriptor for reading, with a position of its own. It keeps the memory.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd())).map(OwnedFd::from)
    }
}
