//! The code of mappings.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use trace_symbols::open;

use crate::recording::{Mapping, Note, SpaceId};
use crate::symbols::{self, VDSO};

/// The first bytes of files with code. A file of perf may name any file that its reader may read,
/// and others may see the recording.
const ELF: &[u8; 4] = b"\x7fELF";

/// The most bytes of a mapping.
const MAX_BYTES: u64 = 1 << 30;

/// The most bytes of all mappings.
const MAX_TOTAL: u64 = 4 << 30;

/// The code of mappings, of limited size.
#[derive(Debug)]
pub(super) struct MappedCode {
    left: u64,
}

impl MappedCode {
    pub(super) fn new() -> Self {
        Self { left: MAX_TOTAL }
    }

    /// Returns a mapping and the code of its file. Adds the path to `missing` if there is none.
    pub(super) fn notes(
        &mut self,
        space: SpaceId,
        mapping: &Mapping,
        missing: &mut Vec<String>,
    ) -> Vec<Note> {
        let build_id = symbols::build_id(&mapping.path);
        let is_same = mapping.build_id.is_none() || mapping.build_id == build_id;
        let code = is_same.then(|| self.of(mapping)).flatten();
        let mapping =
            Mapping { build_id: mapping.build_id.clone().or(build_id), ..mapping.clone() };
        if code.is_none() && !missing.contains(&mapping.path) {
            missing.push(mapping.path.clone());
        }
        let address = mapping.address;
        let code = code.map(|bytes| Note::Code { space, address, bytes });
        [Note::Mapping { space, mapping }].into_iter().chain(code).collect()
    }

    /// Returns the code of a mapping, as far as its file has it. Beyond the limit of all mappings,
    /// there is none.
    pub(super) fn of(&mut self, mapping: &Mapping) -> Option<Vec<u8>> {
        let code = match mapping.path == VDSO {
            true => own_vdso(mapping.size)?,
            false => read(mapping, mapping.size.min(MAX_BYTES).min(self.left.saturating_add(1)))?,
        };
        self.left = self.left.checked_sub(code.len() as u64)?;
        Some(code)
    }
}

/// Returns at most `limit` bytes of the file of a mapping.
fn read(mapping: &Mapping, limit: u64) -> Option<Vec<u8>> {
    if !mapping.path.starts_with('/') {
        return None;
    }
    let mut file = open(Path::new(&mapping.path))?;
    let mut magic = [0; ELF.len()];
    file.read_exact_at(&mut magic, 0).ok()?;
    if magic != *ELF {
        return None;
    }
    let mut code = Vec::new();
    file.seek(SeekFrom::Start(mapping.offset)).ok()?;
    file.take(limit).read_to_end(&mut code).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_have_code_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, start: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, [start, &[7; 0x2000]].concat()).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let mapping = |path: &str, size| Mapping {
            address: 0,
            size,
            offset: 4,
            path: path.to_owned(),
            build_id: None,
        };
        let (program, secret) = (file("program", ELF), file("secret", b"-----BEGIN"));
        let mut code = MappedCode { left: 0x3000 };
        assert_eq!(code.of(&mapping(&secret, 0x1000)), None);
        assert_eq!(code.of(&mapping("/dev/zero", 0x1000)), None);
        assert_eq!(code.of(&mapping(&program, u64::MAX)), Some(vec![7; 0x2000]));
        assert_eq!(code.of(&mapping(&program, 0x1001)), None, "the limit is exceeded");
        assert_eq!(code.of(&mapping(&program, 0x1000)), Some(vec![7; 0x1000]));
        assert_eq!(code.of(&mapping(&program, 1)), None);
    }
}
