//! Records of mapped files: `PERF_RECORD_MMAP2`.

use super::fields::Fields;

/// The record has a build id instead of the file's inode.
const MISC_BUILD_ID: u16 = 1 << 14;

/// The size of the build id, or of the inode with its device and generation.
const FILE_BYTES: usize = 24;

/// The device and the number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inode {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) number: u64,
}

/// Code that a process has mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedFile {
    pub(crate) process: u32,
    pub(crate) start: u64,
    /// The length in bytes.
    pub(crate) length: u64,
    /// The offset in the file in bytes.
    pub(crate) offset: u64,
    /// Readable (1), writable (2), executable (4).
    pub(crate) protection: u32,
    /// Empty if the kernel does not know it.
    pub(crate) build_id: Box<[u8]>,
    /// `None` if the record has a build id.
    pub(crate) inode: Option<Inode>,
    pub(crate) path: Box<[u8]>,
}

impl MappedFile {
    pub(super) fn parse(misc: u16, mut fields: Fields<'_>) -> Option<Self> {
        let (process, _thread) = (fields.u32()?, fields.u32()?);
        let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let file = fields.bytes(FILE_BYTES)?;
        let (build_id, inode) = match misc & MISC_BUILD_ID {
            0 => (&[][..], Some(inode(Fields(file))?)),
            _ => (build_id(file)?, None),
        };
        let (protection, _flags) = (fields.u32()?, fields.u32()?);
        let (build_id, path) = (build_id.into(), fields.string().into());
        Some(Self { process, start, length, offset, protection, build_id, inode, path })
    }
}

fn inode(mut file: Fields<'_>) -> Option<Inode> {
    Some(Inode { major: file.u32()?, minor: file.u32()?, number: file.u64()? })
}

/// Returns the id: its size, three bytes, and up to 20 bytes of it.
fn build_id(file: &[u8]) -> Option<&[u8]> {
    let (size, rest) = file.split_first()?;
    rest.get(3..)?.get(..usize::from(*size))
}
