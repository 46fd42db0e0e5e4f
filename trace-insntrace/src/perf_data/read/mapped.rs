//! The code of mappings.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use trace_symbols::open;

use crate::recording::Mapping;
use crate::symbols::VDSO;

/// Returns the code of a mapping, as far as its file has it.
pub(super) fn code_of(mapping: &Mapping) -> Option<Vec<u8>> {
    if mapping.path == VDSO {
        return own_vdso(mapping.size);
    }
    if !mapping.path.starts_with('/') {
        return None;
    }
    let mut code = Vec::new();
    let mut file = open(Path::new(&mapping.path))?;
    file.seek(SeekFrom::Start(mapping.offset)).ok()?;
    file.take(mapping.size).read_to_end(&mut code).ok()?;
    (!code.is_empty()).then_some(code)
}

/// Returns the code of this process's vDSO, if it has the size of the recorded one: it is the same
/// until the machine starts again.
fn own_vdso(size: u64) -> Option<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with(VDSO))?;
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let length = u64::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    let mut code = vec![0; usize::try_from(length).ok().filter(|_| length == size)?];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut code, start).ok()?;
    Some(code)
}
