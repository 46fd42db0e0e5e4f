//! Debug information in files of its own: those of the compiler (`.dwo`), and packages of them
//! (`.dwp`).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use addr2line::SplitDwarfLoad;
use gimli::{DwarfPackage, EndianArcSlice, Reader, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ReadCache, ReadRef};

use crate::{open, Limited};

/// A section of a file, in memory.
pub(crate) type Section = EndianArcSlice<RunTimeEndian>;

/// The parts of a program.
type Part = gimli::Dwarf<Section>;

/// The files that a program's debug information refers to.
#[derive(Debug)]
pub(crate) struct SplitFiles {
    /// The path of the program.
    program: PathBuf,
    /// `None` if there is none.
    package: OnceLock<Option<DwarfPackage<Section>>>,
    /// The bytes that may still be read.
    rest: AtomicU64,
    is_missing: AtomicBool,
}

impl SplitFiles {
    /// Creates the files of a program, of which at most `bytes` are read.
    pub(crate) fn new(program: &Path, bytes: u64) -> Self {
        Self {
            program: program.to_owned(),
            package: OnceLock::new(),
            rest: AtomicU64::new(bytes),
            is_missing: AtomicBool::new(false),
        }
    }

    /// Returns whether a part was missing.
    pub(crate) fn is_missing(&self) -> bool {
        self.is_missing.load(Ordering::Relaxed)
    }

    /// Reads a part, from the package beside the program or from a file.
    pub(crate) fn load(&self, untrusted: &SplitDwarfLoad<Section>) -> Option<Arc<Part>> {
        let part = self.of_package(untrusted).or_else(|| self.of_file(untrusted));
        let Some(mut part) = part else {
            self.is_missing.store(true, Ordering::Relaxed);
            return None;
        };
        // The line table is that of the program, but the library reads its names from the part.
        part.debug_line_str.clone_from(&untrusted.parent.debug_line_str);
        Some(Arc::new(part))
    }

    fn of_package(&self, load: &SplitDwarfLoad<Section>) -> Option<Part> {
        let package = self.package.get_or_init(|| {
            let mut path = self.program.clone().into_os_string();
            path.push(".dwp");
            self.with_sections(Path::new(&path), |section, endian| {
                let empty = EndianArcSlice::new([].into(), endian);
                DwarfPackage::load(section, empty).ok()
            })
        });
        package.as_ref()?.find_cu(load.dwo_id, &load.parent).ok().flatten()
    }

    fn of_file(&self, load: &SplitDwarfLoad<Section>) -> Option<Part> {
        let text = |bytes: &Section| {
            Some(PathBuf::from(String::from_utf8_lossy(&bytes.to_slice().ok()?).into_owned()))
        };
        let path = load.path.as_ref().and_then(text)?;
        let directory = load.comp_dir.as_ref().and_then(text).unwrap_or_default();
        let beside = path.file_name().map(|name| self.program.with_file_name(name));
        let named = Some(directory.join(path)).filter(|path| path.is_absolute());
        [named, beside].into_iter().flatten().find_map(|path| {
            let mut part = self.with_sections(&path, |section, _| Part::load(section).ok())?;
            part.make_dwo(&load.parent);
            let header = part.units().next().ok()??;
            (part.unit(header).ok()?.dwo_id == Some(load.dwo_id)).then_some(part)
        })
    }

    /// Opens a file, and calls `read` with what returns its sections.
    fn with_sections<T>(
        &self,
        path: &Path,
        read: impl FnOnce(&dyn Fn(SectionId) -> gimli::Result<Section>, RunTimeEndian) -> Option<T>,
    ) -> Option<T> {
        let cache: ReadCache<File> = ReadCache::new(open(path)?);
        let limited = Limited::new(&cache, self.rest.load(Ordering::Relaxed));
        let file = object::File::parse(&limited).ok()?;
        let is_little = file.is_little_endian();
        let endian = if is_little { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = |id: SectionId| {
            let bytes = id.dwo_name().map(|name| bytes_of(&file, name)).unwrap_or_default();
            Ok(EndianArcSlice::new(bytes.into(), endian))
        };
        let found = read(&section, endian);
        self.rest.store(limited.rest(), Ordering::Relaxed);
        found.filter(|_| !limited.is_exceeded())
    }
}

fn bytes_of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>, section: &str) -> Vec<u8> {
    let section = file.section_by_name(section);
    let bytes = section.and_then(|section| section.uncompressed_data().ok());
    bytes.unwrap_or_default().into_owned()
}
