//! Functions of ELF files, by address.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use object::{ReadCache, ReadRef};
use trace_symbols::{
    functions_named, open, Functions, Limited, ModuleError, ModuleSymbols, PlaceError, Segments,
};

use crate::recording::{Mapping, Note, SpaceId};

/// The name of the mapping of the kernel's code in each process.
pub const VDSO: &str = "[vdso]";

/// The most bytes of symbol tables, with their names, that are read of a file. A traced program may
/// map any file as code.
const MAX_SYMBOL_BYTES: u64 = 256 << 20;

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

/// A call that the compiler has replaced by the code of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlinedCall {
    /// The demangled name of the function.
    pub name: Arc<str>,
    /// The line of the call, if it is known.
    pub line: Option<u32>,
    /// The column of the call in its line, if it is known.
    pub column: Option<u32>,
}

/// Returns the build id of the file at `path`, if it has one.
#[must_use]
pub fn build_id(path: &str) -> Option<Vec<u8>> {
    trace_symbols::build_id(Path::new(path))
}

/// The functions of a name in a mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFunctions {
    /// The first and the last address of each.
    pub addresses: Vec<(u64, u64)>,
    /// Whether the name is that of an indirect function, which chooses another one when the program
    /// starts. Nothing calls it later.
    pub is_indirect: bool,
}

/// Returns the functions of a name in a mapping: one that is mangled or demangled, and in C++ also
/// without its parameters. A file with more than 256 MiB of symbol tables has none.
#[must_use]
pub fn find(mapping: &Mapping, name: &str) -> NamedFunctions {
    let read = |file: &Elf<'_>| (functions_named(file, name), Segments::of(file));
    let Ok((found, segments)) = read_symbols(&mapping.path, |_| true, read) else {
        return NamedFunctions::default();
    };
    let is_indirect = found == Err(PlaceError::Indirect);
    let bias = bias(&segments, mapping);
    let addresses = found.unwrap_or_default().into_iter().filter_map(|function| {
        let start = bias?.wrapping_add(function.start);
        mapping.contains(start).then(|| (start, start.saturating_add(function.size.max(1) - 1)))
    });
    NamedFunctions { addresses: addresses.collect(), is_indirect }
}

/// The path and the build id of a file.
type FileKey<'a> = (&'a str, Option<&'a [u8]>);

/// The functions of all address spaces of a recording. Files are read when they are required.
#[derive(Debug)]
pub struct Symbols<'a> {
    notes: &'a [Note],
    /// The tables by path and build id, `None` if the file cannot be used.
    tables: HashMap<FileKey<'a>, Option<Table>>,
    /// The debug information by path and build id, `None` if there is none.
    modules: HashMap<FileKey<'a>, Option<ModuleSymbols>>,
    has_inlined: bool,
    /// The mappings of each space with the indices of their notes; later ones replace earlier ones.
    mappings: HashMap<SpaceId, Vec<(usize, &'a Mapping)>>,
    /// The notes of mappings that replace others.
    replacing: HashMap<SpaceId, Vec<usize>>,
    /// Files whose symbols cannot be used.
    unusable: Vec<(String, ModuleError)>,
    /// Files whose debug information cannot be used.
    lacking: Vec<(&'a str, ModuleError)>,
}

impl<'a> Symbols<'a> {
    /// Creates the functions of a recording with these notes.
    #[must_use]
    pub fn new(notes: &'a [Note]) -> Self {
        let mut mappings: HashMap<_, Vec<(usize, &Mapping)>> = HashMap::new();
        let mut replacing: HashMap<_, Vec<_>> = HashMap::new();
        let mut current: HashMap<_, BTreeMap<_, _>> = HashMap::new();
        for (index, note) in notes.iter().enumerate() {
            let Note::Mapping { space, mapping } = note else { continue };
            mappings.entry(*space).or_default().push((index, mapping));
            if replaces(current.entry(*space).or_default(), mapping) {
                replacing.entry(*space).or_default().push(index);
            }
        }
        let (tables, modules) = (HashMap::new(), HashMap::new());
        let (unusable, lacking) = (Vec::new(), Vec::new());
        Self { notes, tables, modules, has_inlined: true, mappings, replacing, unusable, lacking }
    }

    /// Reads no debug information: there are no inlined calls.
    #[must_use]
    pub fn without_inlined(self) -> Self {
        Self { has_inlined: false, ..self }
    }

    /// Returns whether there may be inlined calls.
    pub(crate) fn has_inlined(&self) -> bool {
        self.has_inlined
    }

    /// Returns how many mappings had been replaced by others after so many notes.
    /// [`function`](Self::function) returns the same for the same number.
    #[must_use]
    pub fn replaced(&self, space: SpaceId, notes: usize) -> usize {
        let replacing = self.replacing.get(&space);
        replacing.map_or(0, |indices| indices.partition_point(|index| *index < notes))
    }

    /// Returns the function at an address, in the newest mapping of the first notes, or else in the
    /// first one of the others. Code without a symbol is a function `file+0xOFFSET` of one byte.
    pub fn function(&mut self, space: SpaceId, notes: usize, address: u64) -> Function {
        let Some(mapping) = self.mapping(space, notes, address) else {
            return unnamed("", address, address);
        };
        let table = self.table(space, mapping);
        let named = table.and_then(|table| table.function(mapping, address));
        let offset = (address - mapping.address).saturating_add(mapping.offset);
        named.unwrap_or_else(|| unnamed(&mapping.path, address, offset))
    }

    /// Returns the inlined calls at an address, the outermost first, by the debug information of
    /// the file. The mapping is that of [`function`](Self::function).
    pub fn inlined(&mut self, space: SpaceId, notes: usize, address: u64) -> Vec<InlinedCall> {
        let Some((module, address)) = self.module(space, notes, address) else { return Vec::new() };
        let frames = module.frames(address);
        // The place of a frame is that of the call inside of it.
        let calls = frames.windows(2).filter_map(|frames| match frames {
            [inner, outer] => {
                let (line, column) = (outer.line, outer.column);
                Some(InlinedCall { name: inner.function.clone(), line, column })
            }
            _ => None,
        });
        calls.rev().collect()
    }

    /// Returns whether the file at an address has debug information.
    pub(crate) fn has_debug_info(&mut self, space: SpaceId, notes: usize, address: u64) -> bool {
        self.module(space, notes, address).is_some()
    }

    /// Returns the debug information at an address, and the address in its file.
    fn module(
        &mut self,
        space: SpaceId,
        notes: usize,
        address: u64,
    ) -> Option<(&ModuleSymbols, u64)> {
        let mapping = self.mapping(space, notes, address).filter(|_| self.has_inlined)?;
        if !mapping.path.starts_with('/') {
            return None;
        }
        let bias = self.table(space, mapping)?.bias(mapping)?;
        let lacking = &mut self.lacking;
        let module = self.modules.entry(key(mapping)).or_insert_with(|| {
            let build_id = mapping.build_id.as_deref().unwrap_or_default();
            let module = ModuleSymbols::read(Path::new(&mapping.path), build_id).ok()?;
            lacking.extend(module.lacks_debug_info().map(|error| (&*mapping.path, error)));
            Some(module).filter(ModuleSymbols::has_debug_info)
        });
        module.as_ref().map(|module| (module, address.wrapping_sub(bias)))
    }

    /// Returns the mapping of an address: the newest one of the first notes, or else the first one
    /// of the others.
    fn mapping(&self, space: SpaceId, notes: usize, address: u64) -> Option<&'a Mapping> {
        let mappings = self.mappings.get(&space).map(Vec::as_slice).unwrap_or_default();
        let (before, after) =
            mappings.split_at(mappings.partition_point(|(index, _)| *index < notes));
        let mut nearest = before.iter().rev().chain(after).map(|(_, mapping)| *mapping);
        nearest.find(|mapping| mapping.contains(address))
    }

    /// Returns the table of a mapping's file, if it can be used.
    fn table(&mut self, space: SpaceId, mapping: &'a Mapping) -> Option<&Table> {
        let (notes, unusable) = (self.notes, &mut self.unusable);
        let table = self.tables.entry(key(mapping)).or_insert_with(|| {
            let table = read_table(notes, space, mapping);
            if let (Err(error), true) = (&table, mapping.path.starts_with('/')) {
                unusable.push((mapping.path.clone(), *error));
            }
            table.ok()
        });
        table.as_ref()
    }

    /// Returns the files whose inlined calls are missing, and why: some of their debug information
    /// is too large, or is in other files, which are missing.
    #[must_use]
    pub fn without_inlined_calls(&self) -> Vec<(&str, ModuleError)> {
        let of_parts = self.modules.iter().filter_map(|((path, _), module)| {
            module.as_ref()?.lacks_debug_info().map(|error| (*path, error))
        });
        let mut all: Vec<_> = self.lacking.iter().copied().chain(of_parts).collect();
        all.sort_unstable_by_key(|(path, _)| *path);
        all.dedup_by_key(|(path, _)| *path);
        all
    }

    /// Returns the files whose symbols cannot be used, and why.
    #[must_use]
    pub fn unusable(&self) -> &[(String, ModuleError)] {
        &self.unusable
    }
}

fn key(mapping: &Mapping) -> FileKey<'_> {
    (&mapping.path, mapping.build_id.as_deref())
}

/// Adds a mapping to the current ones, by address. Returns whether it replaces others.
fn replaces<'a>(current: &mut BTreeMap<u64, &'a Mapping>, new: &'a Mapping) -> bool {
    let mut replaces = false;
    while let Some((start, former)) = current.range(..new.end()).next_back() {
        if former.end() <= new.address {
            break;
        }
        replaces |= former.is_replaced_by(new);
        let start = *start;
        current.remove(&start);
    }
    current.insert(new.address, new);
    replaces
}

fn unnamed(path: &str, address: u64, offset: u64) -> Function {
    let file = path.rsplit('/').next().unwrap_or_default();
    let name = match file {
        "" => format!("0x{address:x}").into(),
        file => format!("{file}+0x{offset:x}").into(),
    };
    Function { start: address, end: address.saturating_add(1), name, file: path.into() }
}

fn read_table(notes: &[Note], space: SpaceId, mapping: &Mapping) -> Result<Table, ModuleError> {
    if mapping.path == VDSO {
        let code = code_of(notes, space, mapping);
        let file = object::File::parse(&*code).map_err(|_| ModuleError::Malformed)?;
        return Ok(Table::of(&file));
    }
    let is_meant = |build_id: Option<&[u8]>| build_id == mapping.build_id.as_deref();
    read_symbols(&mapping.path, is_meant, Table::of_elf)
}

/// A file of which a limited number of bytes is read.
type Elf<'a> = object::File<'a, &'a Limited<&'a ReadCache<File>>>;

/// Reads symbol tables of the file at `path`, if `is_meant` accepts its build id.
fn read_symbols<T>(
    path: &str,
    is_meant: impl FnOnce(Option<&[u8]>) -> bool,
    read: impl FnOnce(&Elf<'_>) -> T,
) -> Result<T, ModuleError> {
    let cache = ReadCache::new(open(Path::new(path)).ok_or(ModuleError::Missing)?);
    let limited = Limited::new(&cache, MAX_SYMBOL_BYTES);
    let unless_large = |error| match limited.is_exceeded() {
        true => ModuleError::TooLarge,
        false => error,
    };
    let file = object::File::parse(&limited).map_err(|_| unless_large(ModuleError::Malformed))?;
    if !is_meant(limited.build_id(&file)) {
        return Err(ModuleError::Changed);
    }
    limited.permit(MAX_SYMBOL_BYTES);
    let found = read(&file);
    match limited.is_exceeded() {
        true => Err(ModuleError::TooLarge),
        false => Ok(found),
    }
}

/// Returns what is added to an address in the file for one in the mapping.
fn bias(segments: &Segments, mapping: &Mapping) -> Option<u64> {
    let address = segments.address(mapping.offset, mapping.size)?;
    Some(mapping.address.wrapping_sub(address))
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

/// The functions of a file, and the addresses of its parts.
#[derive(Debug)]
struct Table {
    functions: Functions,
    segments: Segments,
}

impl Table {
    fn of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        Self { functions: Functions::of(file), segments: Segments::of(file) }
    }

    fn of_elf(file: &Elf<'_>) -> Self {
        Self::of(file)
    }

    /// Returns what is added to an address in the file for one in the mapping.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        bias(&self.segments, mapping)
    }

    fn function(&self, mapping: &Mapping, address: u64) -> Option<Function> {
        let bias = self.bias(mapping)?;
        let symbol = self.functions.at(address.wrapping_sub(bias))?;
        let start = bias.wrapping_add(symbol.start);
        Some(Function {
            start,
            end: start.saturating_add(symbol.size),
            name: symbol.name,
            file: mapping.path.as_str().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the begin of an ELF file whose table of symbols has this size.
    fn file_with_symbols(size: u64) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        // A library for x86-64, version 1, without an entry point and segments.
        bytes.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        bytes.extend([0_u64, 0, 64].map(u64::to_le_bytes).as_flattened());
        bytes.extend([0; 4]);
        // Three sections, of which the last one has the names.
        bytes.extend([64_u16, 56, 0, 64, 3, 2].map(u16::to_le_bytes).as_flattened());
        let symbols = (object::elf::SHT_SYMTAB, size, 2_u32);
        let names = (object::elf::SHT_STRTAB, 1, 0);
        for (kind, size, link) in [(0, 0, 0), symbols, names] {
            bytes.extend([0, kind].map(u32::to_le_bytes).as_flattened());
            bytes.extend([0, 0, 256, size].map(u64::to_le_bytes).as_flattened());
            bytes.extend([link, 0].map(u32::to_le_bytes).as_flattened());
            bytes.extend([1_u64, 24].map(u64::to_le_bytes).as_flattened());
        }
        bytes
    }

    /// The traced program may map a file with holes, which takes no space on the disk.
    #[test]
    fn files_of_any_size_take_little_memory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let mapping = Mapping { address: 0x1000, size: 1, offset: 0, path, build_id: None };
        let notes = [Note::Mapping { space: SpaceId(0), mapping: mapping.clone() }];
        let huge = 24 << 30;
        for (size, expected) in [(24, None), (huge, Some(ModuleError::TooLarge))] {
            std::fs::write(file.path(), file_with_symbols(size)).unwrap();
            file.as_file().set_len(256 + huge).unwrap();
            let mut symbols = Symbols::new(&notes);
            symbols.function(SpaceId(0), 1, 0x1000);
            let expected: Vec<_> =
                expected.into_iter().map(|error| (mapping.path.clone(), error)).collect();
            assert_eq!(symbols.unusable(), expected, "{size}");
            assert_eq!(find(&mapping, "main"), NamedFunctions::default());
        }
    }
}
