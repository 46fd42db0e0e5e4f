//! The code of programs, to which address filters refer.

use std::fs;
use std::io;
use std::path::Path;

use object::elf::PF_X;
use object::{File, Object, ObjectSegment, SegmentFlags};

use crate::recording::Mapping;

/// Returns the mapped code of a process.
///
/// # Errors
///
/// The process has ended, or is not one of this user.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn code_of_process(pid: u32) -> io::Result<Vec<Mapping>> {
    crate::step::code_of(pid)
}

/// Returns the code of a file, at the addresses that the file states. Address filters refer to
/// places in files, so that they are those of the running program.
///
/// # Errors
///
/// The file cannot be read, or is not an ELF file.
pub fn code_of_file(path: &Path) -> io::Result<Vec<Mapping>> {
    // The kernel compares the paths of mapped files.
    let path = fs::canonicalize(path)?;
    let bytes = fs::read(&path)?;
    let file = File::parse(&*bytes).map_err(io::Error::other)?;
    let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
    let mapping = |segment: object::Segment<'_, '_>| {
        let (offset, size) = segment.file_range();
        let path = path.to_string_lossy().into_owned();
        Mapping { address: segment.address(), size, offset, path, build_id: None }
    };
    Ok(file.segments().filter(|segment| is_code(segment.flags())).map(mapping).collect())
}
