//! Functions of ELF files, by address.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::sync::Arc;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::recording::{Mapping, Note, SpaceId};

/// The name of the mapping of the kernel's code in each process.
pub const VDSO: &str = "[vdso]";

/// A function of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The first address in the address space.
    pub start: u64,
    /// The address behind the last one.
    pub end: u64,
    /// The demangled name.
    pub name: Arc<str>,
    /// The path of the file.
    pub file: Arc<str>,
}

/// Returns the build id of the file at `path`, if it has one.
#[must_use]
pub fn build_id(path: &str) -> Option<Vec<u8>> {
    let cache = object::ReadCache::new(open(path)?);
    let file = object::File::parse(&cache).ok()?;
    file.build_id().ok().flatten().map(<[u8]>::to_vec)
}

/// Opens a regular file. The path is untrusted: without the flag, a FIFO would block.
fn open(path: &str) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let file = options.open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

fn read(path: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the first and the last address of the function `name` in a mapping.
#[must_use]
pub fn find(mapping: &Mapping, name: &str) -> Option<(u64, u64)> {
    let table = Table::read(&read(&mapping.path)?)?;
    let symbol = table.symbols.iter().find(|symbol| &*symbol.name == name)?;
    let bias = table.bias(mapping)?;
    let start = bias.wrapping_add(symbol.start);
    mapping.contains(start).then(|| (start, start.saturating_add(symbol.size.max(1) - 1)))
}

/// The functions of all address spaces of a recording. Files are read when they are required.
#[derive(Debug)]
pub struct Symbols<'a> {
    notes: &'a [Note],
    /// The tables by path, `None` if the file cannot be used.
    tables: HashMap<&'a str, Option<Table>>,
    /// The mappings of each space; later ones replace earlier ones.
    mappings: HashMap<SpaceId, Vec<&'a Mapping>>,
    /// Files that changed since the recording, or are missing.
    unusable: Vec<String>,
}

impl<'a> Symbols<'a> {
    /// Creates the functions of a recording with these notes.
    #[must_use]
    pub fn new(notes: &'a [Note]) -> Self {
        let mut mappings: HashMap<_, Vec<_>> = HashMap::new();
        for note in notes {
            if let Note::Mapping { space, mapping } = note {
                mappings.entry(*space).or_default().push(mapping);
            }
        }
        Self { notes, tables: HashMap::new(), mappings, unusable: Vec::new() }
    }

    /// Returns the function at an address. Code without a symbol is a function `file+0xOFFSET` of
    /// one byte.
    pub fn function(&mut self, space: SpaceId, address: u64) -> Function {
        let mappings = self.mappings.get(&space).map(Vec::as_slice).unwrap_or_default();
        let mapping = mappings.iter().rev().find(|mapping| mapping.contains(address)).copied();
        let Some(mapping) = mapping else { return unnamed("", address, address) };
        let (notes, unusable) = (self.notes, &mut self.unusable);
        let table = self.tables.entry(&mapping.path).or_insert_with(|| {
            let table = read_table(notes, space, mapping);
            if table.is_none() && mapping.path.starts_with('/') {
                unusable.push(mapping.path.clone());
            }
            table
        });
        let named = table.as_ref().and_then(|table| table.function(mapping, address));
        let offset = (address - mapping.address).saturating_add(mapping.offset);
        named.unwrap_or_else(|| unnamed(&mapping.path, address, offset))
    }

    /// Returns the files that are missing, or have changed since the recording.
    #[must_use]
    pub fn unusable(&self) -> &[String] {
        &self.unusable
    }
}

fn unnamed(path: &str, address: u64, offset: u64) -> Function {
    let file = path.rsplit('/').next().unwrap_or_default();
    let name = match file {
        "" => format!("0x{address:x}").into(),
        file => format!("{file}+0x{offset:x}").into(),
    };
    Function { start: address, end: address.saturating_add(1), name, file: path.into() }
}

fn read_table(notes: &[Note], space: SpaceId, mapping: &Mapping) -> Option<Table> {
    if mapping.path == VDSO {
        return Table::read(&code_of(notes, space, mapping));
    }
    let bytes = read(&mapping.path)?;
    let build_id = object::File::parse(&*bytes).ok()?.build_id().ok()?.map(<[u8]>::to_vec);
    (build_id == mapping.build_id).then(|| Table::read(&bytes)).flatten()
}

/// Returns the recorded code of a mapping.
fn code_of(notes: &[Note], in_space: SpaceId, mapping: &Mapping) -> Vec<u8> {
    let mut pages: Vec<(u64, &[u8])> = Vec::new();
    for note in notes {
        match note {
            Note::Code { space, address, bytes }
                if *space == in_space && mapping.contains(*address) =>
            {
                pages.push((*address, bytes));
            }
            _ => {}
        }
    }
    pages.sort_by_key(|(address, _)| *address);
    pages.into_iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
}

/// The functions of a file, by address in the file.
#[derive(Debug)]
struct Table {
    symbols: Vec<Symbol>,
    /// Offset in the file, size in the file and address of each segment.
    segments: Vec<(u64, u64, u64)>,
}

#[derive(Debug)]
struct Symbol {
    start: u64,
    size: u64,
    name: Arc<str>,
}

impl Table {
    fn read(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let mut symbols: Vec<Symbol> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter_map(|symbol| {
                let name = format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?));
                Some(Symbol { start: symbol.address(), size: symbol.size(), name: name.into() })
            })
            .collect();
        // Of several names of an address, the one with a size and the fewest underscores is used.
        symbols.sort_by_key(|symbol| {
            let underscores = symbol.name.bytes().take_while(|byte| *byte == b'_').count();
            (symbol.start, symbol.size == 0, underscores)
        });
        symbols.dedup_by_key(|symbol| symbol.start);
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        });
        Some(Self { segments: segments.collect(), symbols })
    }

    /// Returns what is added to an address in the file for one in the mapping.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        // The kernel maps whole pages, which begin before the segment.
        let end = mapping.offset.checked_add(mapping.size)?;
        let mut segments = self.segments.iter().rev();
        let (offset, _, address) = segments.find(|(offset, size, _)| {
            *offset < end
                && offset.saturating_add(*size) > mapping.offset
                && offset & !0xfff <= mapping.offset
        })?;
        Some(
            mapping
                .address
                .wrapping_sub(mapping.offset)
                .wrapping_add(*offset)
                .wrapping_sub(*address),
        )
    }

    fn function(&self, mapping: &Mapping, address: u64) -> Option<Function> {
        let bias = self.bias(mapping)?;
        let in_file = address.wrapping_sub(bias);
        let behind = self.symbols.partition_point(|symbol| symbol.start <= in_file);
        let symbol = self.symbols.get(behind.checked_sub(1)?)?;
        let next = self.symbols.get(behind).map_or(u64::MAX, |next| next.start);
        // Functions in assembly may have no size: they reach to the next one.
        let size = if symbol.size == 0 { next - symbol.start } else { symbol.size };
        (in_file - symbol.start < size).then(|| Function {
            start: bias.wrapping_add(symbol.start),
            end: bias.wrapping_add(symbol.start).saturating_add(size),
            name: Arc::clone(&symbol.name),
            file: mapping.path.as_str().into(),
        })
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let path = path.to_str().unwrap();
        assert!(build_id(path).is_none() && read(path).is_none());
        assert!(read("/dev/zero").is_none());
    }
}
