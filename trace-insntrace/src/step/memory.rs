//! The memory of a process, with the rights that its own instructions have.
//!
//! `/proc/PID/mem` also writes to memory that is read-only.
#![allow(unsafe_code)]

use super::branch::Memory;
use super::ptrace::Tid;

/// The most parts of a call, `IOV_MAX`.
const MAX_PARTS: usize = 1024;

/// The memory of the process of a stopped thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnMemory(pub(super) Tid);

impl OwnMemory {
    /// Reads parts of memory, one after another. Returns `None` if not all bytes are readable.
    pub(super) fn read_parts(self, parts: &[(u64, usize)]) -> Option<Vec<u8>> {
        let size = parts.iter().map(|(_, size)| size).sum();
        let mut bytes = vec![0; size];
        if parts.len() > MAX_PARTS {
            return None;
        }
        let remote: Vec<_> = parts.iter().map(|(address, size)| part(*address, *size)).collect();
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: size };
        let (pid, count) = (self.0 .0, remote.len() as libc::c_ulong);
        // SAFETY: `local` is all of `bytes`, which is not used elsewhere; `remote` has `count`
        // elements.
        let read =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), count, 0) };
        (read == size as isize).then_some(bytes)
    }
}

impl Memory for OwnMemory {
    fn read(&self, address: u64) -> Option<u64> {
        let bytes = self.read_parts(&[(address, 8)])?;
        bytes.try_into().ok().map(u64::from_ne_bytes)
    }

    fn write(&self, address: u64, value: u64) -> Option<()> {
        let mut bytes = value.to_ne_bytes();
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 8 };
        let remote = part(address, 8);
        // SAFETY: the call reads the 8 bytes of `local`, and one element of each kind.
        let written = unsafe {
            libc::process_vm_writev(self.0 .0, &raw const local, 1, &raw const remote, 1, 0)
        };
        (written == 8).then_some(())
    }
}

/// Returns a part of another process's memory. Its address is no pointer of this process.
fn part(address: u64, size: usize) -> libc::iovec {
    let iov_base = std::ptr::without_provenance_mut(address as usize);
    libc::iovec { iov_base, iov_len: size }
}
