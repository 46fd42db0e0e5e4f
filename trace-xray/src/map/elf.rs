//! The map of a program or shared library.

use std::collections::HashMap;

use object::{
    elf, Architecture, File, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags,
    SymbolKind,
};

use super::{Map, MapError, Sled};
use crate::layout::{sled32, sled64, ByteOrder, SledKind, SLED_SECTION, SLED_VERSION_RELATIVE};
use crate::record::FunctionId;

impl From<object::Error> for MapError {
    fn from(error: object::Error) -> Self {
        Self::Elf(error.to_string())
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Map, MapError> {
    let file = File::parse(bytes)?;
    let symbols = symbols(&file);
    let mut map = Map { build_id: file.build_id()?.map(<[u8]>::to_vec), ..Map::default() };
    let (mut last, mut number) = (None, 0);
    for (index, entry) in entries(&file)?.into_iter().enumerate() {
        if last != Some(entry.function) {
            (last, number) = (Some(entry.function), number + 1);
        }
        let sled = Sled {
            id: FunctionId::new(number).ok_or(MapError::TooManyFunctions)?,
            address: entry.address,
            function: entry.function,
            kind: SledKind::from_bits(entry.kind)
                .ok_or(MapError::SledKind { index, kind: entry.kind })?,
            always_instrument: entry.always_instrument,
            version: entry.version,
        };
        let is_new = map.functions.last_key_value().is_none_or(|(id, _)| *id != sled.id);
        let symbol = symbols.get(&entry.function).filter(|_| is_new);
        map.add(sled, symbol.map(|symbol| (*symbol).to_owned()));
    }
    Ok(map)
}

/// An entry of the section, with addresses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) address: u64,
    pub(super) function: u64,
    kind: u8,
    always_instrument: bool,
    version: u8,
}

/// Reads the entries of a file's section.
pub(super) fn entries(file: &File<'_>) -> Result<Vec<Entry>, MapError> {
    if file.kind() == ObjectKind::Relocatable {
        return Err(MapError::NotLinked);
    }
    let section = file.section_by_name(SLED_SECTION).ok_or(MapError::NoSection)?;
    if section.file_range().is_none() {
        return Err(MapError::NoContent);
    }
    let (data, start) = (section.data()?, section.address());
    let order = if file.is_little_endian() { ByteOrder::Little } else { ByteOrder::Big };
    let relocations = relocations(file, start, data.len() as u64);
    if file.is_64() {
        return split::<{ sled64::BYTES }>(data, start, &relocations, |bytes| {
            let address = sled64::Address::get(bytes, order);
            let function = sled64::Function::get(bytes, order);
            let entry = Entry {
                address,
                function,
                kind: sled64::Kind::get(bytes, order),
                always_instrument: sled64::AlwaysInstrument::get(bytes, order) != 0,
                version: sled64::Version::get(bytes, order),
            };
            (entry, 8)
        });
    }
    split::<{ sled32::BYTES }>(data, start, &relocations, |bytes| {
        // Sign-extended, because the addresses may be relative and negative.
        let wide = |number: u32| i64::from(number as i32) as u64;
        let entry = Entry {
            address: wide(sled32::Address::get(bytes, order)),
            function: wide(sled32::Function::get(bytes, order)),
            kind: sled32::Kind::get(bytes, order),
            always_instrument: sled32::AlwaysInstrument::get(bytes, order) != 0,
            version: sled32::Version::get(bytes, order),
        };
        (entry, 4)
    })
}

/// Reads entries of `BYTES` bytes with `read`, which also returns the place of the second address.
fn split<const BYTES: usize>(
    data: &[u8],
    start: u64,
    relocations: &HashMap<u64, u64>,
    read: impl Fn(&[u8; BYTES]) -> (Entry, u64),
) -> Result<Vec<Entry>, MapError> {
    let mut chunks = data.chunks_exact(BYTES);
    let mask = if BYTES == sled32::BYTES { u64::from(u32::MAX) } else { u64::MAX };
    let mut place = start;
    let mut entries = Vec::with_capacity(data.len() / BYTES);
    for bytes in chunks.by_ref().filter_map(<[u8]>::first_chunk) {
        let (mut entry, second) = read(bytes);
        let is_relative = entry.version >= SLED_VERSION_RELATIVE;
        let absolute = |value: u64, place: u64| match relocations.get(&place) {
            _ if is_relative => value.wrapping_add(place) & mask,
            Some(target) if value == 0 => *target & mask,
            _ => value & mask,
        };
        entry.address = absolute(entry.address, place);
        entry.function = absolute(entry.function, place.wrapping_add(second));
        entries.push(entry);
        place = place.wrapping_add(BYTES as u64);
    }
    if !chunks.remainder().is_empty() {
        return Err(MapError::SectionSize { size: data.len(), entry: BYTES });
    }
    Ok(entries)
}

/// Returns the addresses that the loader stores in the section. Absolute entries of a
/// position-independent program are 0 in the file.
fn relocations(file: &File<'_>, start: u64, size: u64) -> HashMap<u64, u64> {
    let Some(relative) = relative_relocation(file.architecture()) else { return HashMap::new() };
    let is_relative =
        |flags| matches!(flags, RelocationFlags::Elf { r_type } if r_type == relative);
    file.dynamic_relocations()
        .into_iter()
        .flatten()
        .filter(|(place, _)| place.checked_sub(start).is_some_and(|offset| offset < size))
        .filter(|(_, relocation)| is_relative(relocation.flags()))
        .map(|(place, relocation)| (place, relocation.addend() as u64))
        .collect()
}

fn relative_relocation(architecture: Architecture) -> Option<u32> {
    Some(match architecture {
        Architecture::X86_64 => elf::R_X86_64_RELATIVE,
        Architecture::I386 => elf::R_386_RELATIVE,
        Architecture::Aarch64 => elf::R_AARCH64_RELATIVE,
        Architecture::Arm => elf::R_ARM_RELATIVE,
        Architecture::Riscv64 => elf::R_RISCV_RELATIVE,
        Architecture::PowerPc64 => elf::R_PPC64_RELATIVE,
        Architecture::LoongArch64 => elf::R_LARCH_RELATIVE,
        Architecture::S390x => elf::R_390_RELATIVE,
        _ => return None,
    })
}

/// Returns the symbols of functions by address, the first one of each address.
fn symbols<'a>(file: &File<'a>) -> HashMap<u64, &'a str> {
    let mut symbols = HashMap::new();
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let name = symbol.name().unwrap_or_default();
        if symbol.kind() == SymbolKind::Text && symbol.is_definition() && !name.is_empty() {
            symbols.entry(symbol.address()).or_insert(name);
        }
    }
    symbols
}
