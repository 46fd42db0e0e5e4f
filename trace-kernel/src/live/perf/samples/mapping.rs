//! The mapped code of a process.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::super::record::{Inode, MappedFile};

/// Mapped code of a process.
#[derive(Clone, Debug)]
pub(in crate::live::perf) struct Mapping {
    /// 0 if it existed at the start.
    pub(in crate::live::perf) ticks: u64,
    pub(in crate::live::perf) start: u64,
    /// The length in bytes.
    pub(in crate::live::perf) length: u64,
    /// The offset in the file in bytes.
    pub(in crate::live::perf) offset: u64,
    /// Readable (1), writable (2), executable (4).
    pub(in crate::live::perf) protection: u8,
    /// Empty if it is unknown.
    pub(in crate::live::perf) build_id: Arc<[u8]>,
    /// `None` if it is unknown, or the code has no file.
    pub(in crate::live::perf) inode: Option<Inode>,
    pub(in crate::live::perf) path: Arc<Path>,
}

impl Mapping {
    pub(in crate::live::perf) fn of(ticks: u64, file: &MappedFile) -> Self {
        Self {
            ticks,
            start: file.start,
            length: file.length,
            offset: file.offset,
            protection: (file.protection & 7) as u8,
            build_id: (*file.build_id).into(),
            inode: file.inode,
            path: Path::new(OsStr::from_bytes(&file.path)).into(),
        }
    }

    /// Returns the bytes of memory that it needs, with the tables of its process.
    pub(in crate::live::perf) fn bytes(&self) -> usize {
        4 * std::mem::size_of::<Self>() + self.path.as_os_str().len() + self.build_id.len()
    }

    /// Returns the first address after it.
    pub(in crate::live::perf) fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }

    /// Returns the parts that another mapping does not replace, which exist since then.
    pub(in crate::live::perf) fn without(&self, newer: &Self) -> Vec<Self> {
        let part = |start: u64, end: u64| {
            (start < end).then(|| Self {
                ticks: newer.ticks,
                start,
                length: end - start,
                offset: self.offset.wrapping_add(start - self.start),
                ..self.clone()
            })
        };
        let before = part(self.start, newer.start.min(self.end()));
        let after = part(newer.end().max(self.start), self.end());
        before.into_iter().chain(after).collect()
    }
}
