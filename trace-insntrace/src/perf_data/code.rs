//! Files with code that no file on disk has: the vDSO, generated code, and files that have changed.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trace_symbols::open;

use super::code_directory::CodeDirectory;
use crate::flow::Image;
use crate::recording::Mapping;
use crate::symbols::VDSO;

const PAGE_BYTES: u64 = 4096;

/// The size of the header of a file: a page, so that code has the same place in a page as in
/// memory.
const HEADER_BYTES: usize = PAGE_BYTES as usize;

/// The most bytes of a file that are compared with code.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Code of an address space, and the file that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) path: PathBuf,
}

/// The files of code in one directory.
#[derive(Debug)]
pub(super) struct CodeFiles {
    directory: CodeDirectory,
    /// The files that were written, by their content.
    written: HashMap<Vec<u8>, PathBuf>,
    /// The files of mappings, `None` if one cannot be read.
    read: HashMap<String, Option<Vec<u8>>>,
}

impl CodeFiles {
    pub(super) fn new(directory: &Path) -> Self {
        let directory = CodeDirectory::new(directory);
        Self { directory, written: HashMap::new(), read: HashMap::new() }
    }

    pub(super) fn into_directory(self) -> CodeDirectory {
        self.directory
    }

    /// Returns where the code of `image` is. A later mapping replaces an earlier one.
    pub(super) fn locate(
        &mut self,
        image: &Image,
        mappings: &[Mapping],
    ) -> io::Result<Vec<Located>> {
        let mut located = Vec::new();
        for mapping in mappings {
            if self.is_in_file(image, mapping) {
                located.push(of_file(mapping));
            }
        }
        for (address, code) in pages(image) {
            let is_located = |it: &Located| {
                let end = it.address.saturating_add(it.size);
                it.address <= address && code.len() as u64 <= end.saturating_sub(address)
            };
            let mut last =
                mappings.iter().rev().filter(|mapping| overlaps(mapping, address, &code));
            let is_mapped = last.next().is_some_and(|last| located.contains(&of_file(last)));
            if !is_mapped || !located.iter().any(is_located) {
                let is_vdso = mappings.iter().any(|it| it.path == VDSO && it.address == address);
                located.push(self.write(address, code, is_vdso)?);
            }
        }
        Ok(located)
    }

    /// Returns whether the file of a mapping has the code of `image`.
    fn is_in_file(&mut self, image: &Image, mapping: &Mapping) -> bool {
        let file = self.read.entry(mapping.path.clone()).or_insert_with(|| read(&mapping.path));
        let Some(file) = file else { return false };
        let mut parts = image.sections().filter(|(start, code)| overlaps(mapping, *start, code));
        parts.all(|(start, code)| {
            let from = mapping.address.max(start);
            let end = (start + code.len() as u64).min(mapping.address.saturating_add(mapping.size));
            let code = code.get((from - start) as usize..(end - start) as usize);
            let offset = mapping.offset.saturating_add(from - mapping.address);
            let place = usize::try_from(offset).ok();
            let found = place.and_then(|place| file.get(place..)?.get(..(end - from) as usize));
            code.is_some() && found == code
        })
    }

    fn write(&mut self, address: u64, code: Vec<u8>, is_image: bool) -> io::Result<Located> {
        let size = code.len() as u64;
        let (offset, content) = match is_image {
            // The vDSO is a file itself, with symbols.
            true => (0, code),
            false => (PAGE_BYTES, elf(address, &code)),
        };
        let path = match self.written.get(&content) {
            Some(path) => path.clone(),
            None => {
                let path = self.directory.file_with(&content)?;
                self.written.insert(content, path.clone());
                path
            }
        };
        Ok(Located { address, size, offset, path })
    }
}

/// Returns the first bytes of a file, which must be a regular one: recordings name any path.
fn read(path: &str) -> Option<Vec<u8>> {
    let file = path.starts_with('/').then(|| open(Path::new(path))).flatten()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn of_file(mapping: &Mapping) -> Located {
    let path = PathBuf::from(&mapping.path);
    Located { address: mapping.address, size: mapping.size, offset: mapping.offset, path }
}

fn overlaps(mapping: &Mapping, start: u64, code: &[u8]) -> bool {
    let end = start.saturating_add(code.len() as u64);
    mapping.address < end && start < mapping.address.saturating_add(mapping.size)
}

/// Returns the code in whole pages, neighbouring ones together.
fn pages(image: &Image) -> Vec<(u64, Vec<u8>)> {
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    for (address, code) in image.sections() {
        let start = address & !(PAGE_BYTES - 1);
        // The end may be that of the address space.
        let is_behind = |(first, bytes): &(u64, Vec<u8>)| start - first > bytes.len() as u64;
        if found.last().is_none_or(is_behind) {
            found.push((start, Vec::new()));
        }
        let Some((first, bytes)) = found.last_mut() else { continue };
        let place = (address - *first) as usize;
        let end = place + code.len();
        bytes.resize(bytes.len().max(end.next_multiple_of(PAGE_BYTES as usize)), 0);
        if let Some(to) = bytes.get_mut(place..end) {
            to.copy_from_slice(code);
        }
    }
    found
}

/// Returns an ELF file of 64 bits with one segment, behind a page.
fn elf(address: u64, code: &[u8]) -> Vec<u8> {
    let size = code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // A shared object for x86-64, version 1, with one program header of 56 bytes at byte 64.
    file.extend([3, 62].into_iter().flat_map(u16::to_le_bytes));
    file.extend(1_u32.to_le_bytes());
    file.extend([0_u64, 64, 0].into_iter().flat_map(u64::to_le_bytes));
    file.extend(0_u32.to_le_bytes());
    file.extend([64_u16, 56, 1, 64, 0, 0].into_iter().flat_map(u16::to_le_bytes));
    // A loaded segment that is readable and executable.
    file.extend([1_u32, 5].into_iter().flat_map(u32::to_le_bytes));
    let segment = [PAGE_BYTES, address, address, size, size, PAGE_BYTES];
    file.extend(segment.into_iter().flat_map(u64::to_le_bytes));
    file.resize(HEADER_BYTES, 0);
    file.extend_from_slice(code);
    file
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use object::{Object, ObjectSegment};

    #[test]
    fn files_of_code_are_elf_files() {
        let file = elf(0x7000, &[0x90; 4096]);
        let object = object::File::parse(&*file).unwrap();
        assert!(object.is_64() && object.architecture() == object::Architecture::X86_64);
        let segment = object.segments().next().unwrap();
        assert_eq!((segment.address(), segment.file_range()), (0x7000, (4096, 4096)));
    }

    #[test]
    fn code_is_in_whole_pages() {
        let mut image = Image::new();
        for (address, code) in [(0x1010, &[1][..]), (0x1ff0, &[2; 0x20]), (0x9000, &[3; 0x1000])] {
            image.insert(address, code);
        }
        let pages = pages(&image);
        let places: Vec<_> = pages.iter().map(|(start, code)| (*start, code.len())).collect();
        assert_eq!(places, [(0x1000, 0x2000), (0x9000, 0x1000)]);
        assert_eq!([0x0f, 0x10, 0x11, 0xff0, 0x100f].map(|at| pages[0].1[at]), [0, 1, 0, 2, 2]);
    }

    #[test]
    fn code_is_in_the_last_page() {
        let last = 0_u64.wrapping_sub(PAGE_BYTES);
        let mut image = Image::new();
        image.insert(last, &[1]);
        image.insert(last + 0x800, &[2; 0x7ff]);
        let pages = pages(&image);
        let places: Vec<_> = pages.iter().map(|(start, code)| (*start, code.len())).collect();
        assert_eq!(places, [(last, 0x1000)]);
        let folder = tempfile::tempdir().unwrap();
        let mappings = [0, 0x1000].map(|size| {
            let path = "Cargo.toml".into();
            Mapping { address: last, size, offset: 0, path, build_id: None }
        });
        let found = CodeFiles::new(folder.path()).locate(&image, &mappings).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn unchanged_files_are_used_and_other_code_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        fs::write(&path, [7; 0x3000]).unwrap();
        let path = path.to_str().unwrap().to_owned();
        let mapping =
            |address, path| Mapping { address, size: 0x1000, offset: 0x1000, path, build_id: None };
        let mappings = [mapping(0x10_000, path.clone()), mapping(0x20_000, path.clone())];
        let mut image = Image::new();
        image.insert(0x10_010, &[7; 16]);
        image.insert(0x20_010, &[8; 16]);
        let directory = folder.path().join("code");
        let mut files = CodeFiles::new(&directory);
        let found = files.locate(&image, &mappings).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].address, found[0].offset), (0x10_000, 0x1000));
        assert_eq!(found[0].path, Path::new(&path));
        assert_eq!((found[1].address, found[1].offset), (0x20_000, 0x1000));
        let written = fs::read(&found[1].path).unwrap();
        assert_eq!(written[0x1010..0x1020], [8; 16]);
        assert_eq!(files.locate(&image, &mappings).unwrap(), found, "nothing is written twice");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    /// Reading them would not end.
    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let mut image = Image::new();
        image.insert(0x10_000, &[0; 16]);
        let directory = folder.path().join("code");
        let mut files = CodeFiles::new(&directory);
        for path in [path.to_str().unwrap(), "/dev/zero", "Cargo.toml", "/"] {
            assert_eq!(read(path), None, "{path}");
            let (address, size, path) = (0x10_000, 0x1000, path.to_owned());
            let mapping = Mapping { address, size, offset: 0, path, build_id: None };
            let found = files.locate(&image, &[mapping]).unwrap();
            assert!(found.len() == 1 && found[0].path.starts_with(&directory), "{found:?}");
        }
    }
}
