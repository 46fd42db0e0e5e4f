//! The mapped files: what stacks and records require of them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use object::{Object, ObjectSection, ReadCache, ReadRef};
use trace_symbols::{Limited, Segments};

/// The name of the mapping of the kernel's code in each process.
const VDSO: &str = "[vdso]";

/// The most bytes of unwind tables in memory. Beyond them, frame pointers are followed.
const MAX_TABLE_BYTES: u64 = 512 << 20;

/// The most bytes of unwind tables of a file. One with more has none.
const MAX_FILE_TABLE_BYTES: u64 = 64 << 20;

/// The most bytes of headers and symbol tables of a file. One with more is not used.
const MAX_HEADER_BYTES: u64 = 128 << 20;

/// The most files that are remembered.
const MAX_FILES: usize = 1 << 16;

/// The path and the build id of a file.
type FileKey = (Arc<Path>, Box<[u8]>);

/// The mapped files of all processes.
#[derive(Debug)]
pub(super) struct Files {
    files: HashMap<FileKey, Arc<MappedCode>>,
    has_tables: bool,
    /// The bytes of unwind tables that may still be read.
    rest: u64,
}

/// A mapped file.
#[derive(Debug, Default)]
pub(super) struct MappedCode {
    pub(super) build_id: Box<[u8]>,
    segments: Segments,
    pub(super) tables: Tables,
}

/// The sections of a file that describe its stack frames.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) text: Option<Range<u64>>,
    pub(super) got: Option<Range<u64>>,
    pub(super) eh_frame: Option<(Range<u64>, Arc<[u8]>)>,
    pub(super) eh_frame_hdr: Option<(Range<u64>, Arc<[u8]>)>,
    pub(super) debug_frame: Option<Arc<[u8]>>,
}

impl Files {
    /// Reads unwind tables if `has_tables`.
    pub(super) fn new(has_tables: bool) -> Self {
        Self { files: HashMap::new(), has_tables, rest: MAX_TABLE_BYTES }
    }

    /// Returns the file at a path. If it has another build id than the mapped one, only the latter
    /// is known. An empty id stands for an unknown one.
    pub(super) fn get(&mut self, path: &Arc<Path>, build_id: &[u8]) -> Arc<MappedCode> {
        let key = (Arc::clone(path), build_id.into());
        if let Some(file) = self.files.get(&key) {
            return Arc::clone(file);
        }
        let unknown = || MappedCode { build_id: build_id.into(), ..MappedCode::default() };
        let file = Arc::new(self.read(path, build_id).unwrap_or_else(unknown));
        if self.files.len() < MAX_FILES {
            self.files.insert(key, Arc::clone(&file));
        }
        file
    }

    fn read(&mut self, path: &Path, build_id: &[u8]) -> Option<MappedCode> {
        if path == Path::new(VDSO) {
            return self.parse(&Limited::new(&*vdso()?, MAX_HEADER_BYTES), build_id);
        }
        // Other names, such as `//anon` and `[heap]`, are not those of files.
        if !path.is_absolute() || path.starts_with("//anon") {
            return None;
        }
        let cache = ReadCache::new(trace_symbols::open(path)?);
        self.parse(&Limited::new(&cache, MAX_HEADER_BYTES), build_id)
    }

    fn parse<'a, R: ReadRef<'a> + 'a>(
        &mut self,
        bytes: &'a Limited<R>,
        build_id: &[u8],
    ) -> Option<MappedCode> {
        let file = object::File::parse(bytes).ok()?;
        let found = bytes.build_id(&file).unwrap_or_default();
        if !build_id.is_empty() && found != build_id {
            return None;
        }
        bytes.permit(MAX_FILE_TABLE_BYTES);
        let tables = if self.has_tables { self.tables(&file) } else { Tables::default() };
        Some(MappedCode { build_id: found.into(), segments: Segments::of(&file), tables })
    }

    fn tables<'a, R: ReadRef<'a>>(&mut self, file: &object::File<'a, R>) -> Tables {
        let range = |name: &str| file.section_by_name(name).and_then(|section| range_of(&section));
        let (text, got) = (range(".text"), range(".got"));
        let mut section = |name: &str| {
            let section = file.section_by_name(name)?;
            let (range, bytes) = (range_of(&section)?, section.data().ok()?);
            self.rest = self.rest.checked_sub(bytes.len() as u64)?;
            Some((range, Arc::from(bytes)))
        };
        let (eh_frame, eh_frame_hdr) = (section(".eh_frame"), section(".eh_frame_hdr"));
        let debug_frame = section(".debug_frame").map(|(_, bytes)| bytes);
        Tables { text, got, eh_frame, eh_frame_hdr, debug_frame }
    }
}

impl MappedCode {
    /// Returns the address in the file of a mapping's first byte.
    pub(super) fn address(&self, offset: u64, length: u64) -> Option<u64> {
        self.segments.address(offset, length)
    }
}

fn range_of<'a>(section: &impl ObjectSection<'a>) -> Option<Range<u64>> {
    Some(section.address()..section.address().checked_add(section.size())?)
}

/// Returns the kernel's code in each process, which is the same in this one.
fn vdso() -> Option<Vec<u8>> {
    let maps = super::maps::read(std::process::id());
    let mapping = maps.into_iter().find(|mapping| *mapping.path == *Path::new(VDSO))?;
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(mapping.start)).ok()?;
    let mut bytes = vec![0; usize::try_from(mapping.length).ok()?];
    memory.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_unwind_tables() {
        let path: Arc<Path> = std::env::current_exe().unwrap().into();
        let mut files = Files::new(true);
        let file = files.get(&path, &[]);
        assert!(file.tables.eh_frame.is_some() && file.tables.text.is_some());
        assert!(Arc::ptr_eq(&file, &files.get(&path, &[])));
        let other = files.get(&path, &[1, 2]);
        assert_eq!(*other.build_id, [1, 2]);
        assert!(other.tables.eh_frame.is_none());
        assert!(Files::new(false).get(&path, &[]).tables.eh_frame.is_none());
        files.rest = 0;
        assert!(files.read(&path, &[]).unwrap().tables.eh_frame.is_none(), "no memory");
    }

    #[test]
    fn a_file_with_endless_unwind_tables_has_none() {
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let index = object::File::parse(&*bytes).unwrap();
        let index = index.section_by_name(".eh_frame").unwrap().index().0;
        let headers = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap()) as usize;
        let size = headers + index * 64 + 32;
        bytes[size..size + 8].copy_from_slice(&(MAX_FILE_TABLE_BYTES + 1).to_le_bytes());
        bytes.resize(bytes.len() + MAX_FILE_TABLE_BYTES as usize, 0);
        let mut files = Files::new(true);
        let file = files.parse(&Limited::new(&*bytes, MAX_HEADER_BYTES), &[]).unwrap();
        assert!(file.tables.eh_frame.is_none() && file.tables.text.is_some());
    }

    #[test]
    fn the_code_of_the_kernel_has_unwind_tables() {
        let file = Files::new(true).get(&Path::new(VDSO).into(), &[]);
        assert!(file.tables.eh_frame.is_some());
    }

    #[test]
    fn names_without_a_file_have_no_tables() {
        for name in ["//anon", "[stack]", "anon_inode:x", "/dev/zero", "/no/such/file"] {
            let file = Files::new(true).get(&Path::new(name).into(), &[7]);
            assert_eq!((&*file.build_id, file.address(0, 4096)), (&[7][..], None), "{name}");
        }
    }
}
