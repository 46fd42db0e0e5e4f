//! The mapped files: what stacks and records require of them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Object, ObjectSection, ReadCache, ReadRef};
use trace_symbols::{Limited, Segments};

use super::super::record::Inode;
use super::mapping::Mapping;

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

/// The path, the build id and the inode of a file.
type FileKey = (Arc<Path>, Arc<[u8]>, Option<Inode>);

/// The mapped files of all processes.
#[derive(Debug)]
pub(super) struct Files {
    files: HashMap<FileKey, Arc<MappedCode>>,
    has_tables: bool,
    /// Whether the mappings are those of a file, perhaps of another machine.
    is_recorded: bool,
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
        let (files, rest) = (HashMap::new(), MAX_TABLE_BYTES);
        Self { files, has_tables, is_recorded: false, rest }
    }

    /// Reads the files of recorded mappings, with unwind tables.
    pub(super) fn recorded() -> Self {
        Self { is_recorded: true, ..Self::new(true) }
    }

    /// Returns the file of a process's mapping. If another file has the path now, or has it in the
    /// mount namespace of this process, only the build id of the mapping is known.
    pub(super) fn get(&mut self, process: u32, mapping: &Mapping) -> Arc<MappedCode> {
        let Mapping { path, build_id, inode, .. } = mapping;
        let key = (Arc::clone(path), Arc::clone(build_id), *inode);
        if let Some(file) = self.files.get(&key) {
            return Arc::clone(file);
        }
        let unknown = || MappedCode { build_id: (**build_id).into(), ..MappedCode::default() };
        let file = Arc::new(self.read(process, mapping).unwrap_or_else(unknown));
        if self.files.len() < MAX_FILES {
            self.files.insert(key, Arc::clone(&file));
        }
        file
    }

    fn read(&mut self, process: u32, mapping: &Mapping) -> Option<MappedCode> {
        let Mapping { path, build_id, .. } = mapping;
        if **path == *Path::new(VDSO) && (!self.is_recorded || !build_id.is_empty()) {
            return self.parse(&Limited::new(&*vdso()?, MAX_HEADER_BYTES), build_id);
        }
        // Other names, such as `//anon` and `[heap]`, are not those of files.
        if !path.is_absolute() || path.starts_with("//anon") {
            return None;
        }
        // The second is for processes that have ended or belong to others: it is checked, too.
        let in_root = (!self.is_recorded).then(|| in_root(process, path));
        in_root.into_iter().chain([path.to_path_buf()]).find_map(|path| {
            let file = trace_symbols::open(&path)?;
            if build_id.is_empty() && !is_inode(&file, mapping.inode?) {
                return None;
            }
            self.parse(&Limited::new(&ReadCache::new(file), MAX_HEADER_BYTES), build_id)
        })
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

/// Returns the name of a file of a process, which may have another root or mount namespace.
fn in_root(process: u32, path: &Path) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{process}/root"));
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Returns whether a file is the mapped one.
fn is_inode(file: &File, mapped: Inode) -> bool {
    let Ok(found) = file.metadata() else { return false };
    let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    // Files of overlayfs and btrfs have a device of major number 0. Their mappings have another
    // one, that of the file system below.
    let is_device = (major, minor) == (mapped.major, mapped.minor) || major == 0;
    is_device && found.ino() == mapped.number
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

    /// Returns a mapping of the file at a path.
    fn mapping(path: &Path, build_id: &[u8]) -> Mapping {
        let inode = std::fs::metadata(path).ok().map(|found| Inode {
            major: rustix::fs::major(found.dev()),
            minor: rustix::fs::minor(found.dev()),
            number: found.ino(),
        });
        let (build_id, path) = (build_id.into(), path.into());
        let (ticks, start, length, offset) = (0, 0x1000, 0x1000, 0);
        Mapping { ticks, start, length, offset, protection: 5, build_id, inode, path }
    }

    #[test]
    fn this_program_has_unwind_tables() {
        let (path, process) = (std::env::current_exe().unwrap(), std::process::id());
        let own = mapping(&path, &[]);
        let mut files = Files::new(true);
        let file = files.get(process, &own);
        assert!(file.tables.eh_frame.is_some() && file.tables.text.is_some());
        assert!(Arc::ptr_eq(&file, &files.get(process, &own)));
        let other = files.get(process, &mapping(&path, &[1, 2]));
        assert_eq!(*other.build_id, [1, 2]);
        assert!(other.tables.eh_frame.is_none());
        assert!(Files::new(false).get(process, &own).tables.eh_frame.is_none());
        files.rest = 0;
        assert!(files.read(process, &own).unwrap().tables.eh_frame.is_none(), "no memory");
    }

    #[test]
    fn another_file_at_the_path_is_not_used() {
        let path = std::env::current_exe().unwrap();
        let mut other = mapping(&path, &[]);
        let inode = other.inode.unwrap();
        for process in [std::process::id(), u32::MAX] {
            other.inode = Some(inode);
            assert!(Files::new(true).read(process, &other).is_some(), "{process}");
            for unknown in [None, Some(Inode { number: inode.number + 1, ..inode })] {
                other.inode = unknown;
                let file = Files::new(true).get(process, &other);
                assert!(file.build_id.is_empty() && file.tables.eh_frame.is_none());
            }
        }
    }

    #[test]
    fn mappings_of_this_process_have_the_inodes_of_their_files() {
        let (path, process) = (std::env::current_exe().unwrap(), std::process::id());
        let own = super::super::maps::read(process).into_iter().find(|it| *it.path == *path);
        assert!(Files::new(true).read(process, &own.unwrap()).is_some());
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
        let file = Files::new(true).get(1, &mapping(Path::new(VDSO), &[]));
        assert!(file.tables.eh_frame.is_some());
    }

    #[test]
    fn names_without_a_file_have_no_tables() {
        for name in ["//anon", "[stack]", "anon_inode:x", "/dev/zero", "/no/such/file"] {
            let file = Files::new(true).get(1, &mapping(Path::new(name), &[7]));
            assert_eq!((&*file.build_id, file.address(0, 4096)), (&[7][..], None), "{name}");
        }
    }
}
