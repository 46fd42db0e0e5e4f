//! A map for functions without sleds.

use object::write::elf::{FileHeader, SectionHeader, SectionIndex, Sym, Writer};
use object::write::StringId;
use object::{elf, Endianness};

use super::MapError;
use crate::layout::{sled64, ByteOrder, SledKind, SLED_SECTION, SLED_VERSION_RELATIVE};

/// The address of the first function. The functions have no code.
const TEXT: u64 = 0x1000;

/// The size of a function.
const FUNCTION_BYTES: u64 = 16;

/// The name in a note of the GNU linker.
const NOTE_NAME: &[u8; 4] = b"GNU\0";

/// Creates an ELF file with names of functions. The first one gets id 1.
///
/// LLVM's tools read names of functions only from the symbols of an ELF file, and number functions
/// by the sleds of its map. So the file has a symbol and a sled for each function. `build_id` is
/// that of the program with the functions. A function with an empty name has no symbol. A name ends
/// before its first NUL.
///
/// # Errors
///
/// There are too many functions for an ELF file.
///
/// # Examples
///
/// ```
/// use trace_xray::map::{write, Map};
/// use trace_xray::FunctionId;
///
/// let file = write(&["main", "server::poll"], Some(&[1, 2, 3]))?;
/// let map = Map::parse(&file)?;
/// let function = map.function(FunctionId::new(2).unwrap()).unwrap();
/// assert_eq!(function.name().as_deref(), Some("server::poll"));
/// # Ok::<(), trace_xray::map::MapError>(())
/// ```
pub fn write<N: AsRef<str>>(names: &[N], build_id: Option<&[u8]>) -> Result<Vec<u8>, MapError> {
    if u32::try_from(names.len()).map_or(true, |count| count > crate::layout::MAX_FUNCTION_ID) {
        return Err(MapError::TooManyFunctions);
    }
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
    let file = Layout::new(&mut writer, names, build_id.map(note).unwrap_or_default());
    file.write(&mut writer).map_err(|error| MapError::Elf(error.to_string()))?;
    Ok(bytes)
}

/// The parts of the file.
struct Layout {
    /// The symbol of each function.
    symbols: Vec<Option<StringId>>,
    sleds: Vec<u8>,
    note: Vec<u8>,
    text: SectionIndex,
    names: [StringId; 3],
    sleds_offset: usize,
    note_offset: usize,
}

impl Layout {
    /// Computes the positions of all parts.
    fn new<'a, N: AsRef<str>>(writer: &mut Writer<'a>, names: &'a [N], note: Vec<u8>) -> Self {
        writer.reserve_file_header();
        writer.reserve_null_section_index();
        let section_names: [&'a [u8]; 3] =
            [b".text", SLED_SECTION.as_bytes(), b".note.gnu.build-id"];
        let section_names = section_names.map(|name| writer.add_section_name(name));
        let text = writer.reserve_section_index();
        writer.reserve_section_index();
        if !note.is_empty() {
            writer.reserve_section_index();
        }
        let symbols = names.iter().map(|name| symbol(writer, name.as_ref(), text)).collect();
        let sleds = sleds(names.len() as u64);
        let sleds_offset = writer.reserve(sleds.len(), sled64::BYTES);
        let note_offset = writer.reserve(note.len(), 4);
        writer.reserve_symtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab_section_index();
        writer.reserve_strtab();
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab();
        writer.reserve_section_headers();
        Self { symbols, sleds, note, text, names: section_names, sleds_offset, note_offset }
    }

    fn write(&self, writer: &mut Writer<'_>) -> object::write::Result<()> {
        writer.write_file_header(&FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: elf::ET_DYN,
            e_machine: elf::EM_X86_64,
            e_entry: 0,
            e_flags: 0,
        })?;
        writer.write_align(sled64::BYTES);
        writer.write(&self.sleds);
        writer.write_align(4);
        writer.write(&self.note);
        self.write_symbols(writer);
        writer.write_strtab();
        writer.write_shstrtab();
        self.write_section_headers(writer);
        Ok(())
    }

    fn write_symbols(&self, writer: &mut Writer<'_>) {
        writer.write_null_symbol();
        for (address, name) in addresses().zip(&self.symbols) {
            if name.is_none() {
                continue;
            }
            writer.write_symbol(&Sym {
                name: *name,
                section: Some(self.text),
                st_info: (elf::STB_GLOBAL << 4) | elf::STT_FUNC,
                st_other: 0,
                st_shndx: 0,
                st_value: address,
                st_size: FUNCTION_BYTES,
            });
        }
    }

    fn write_section_headers(&self, writer: &mut Writer<'_>) {
        let functions = self.symbols.len() as u64;
        let [text, sleds, note] = self.names;
        writer.write_null_section_header();
        writer.write_section_header(&SectionHeader {
            sh_type: elf::SHT_NOBITS,
            sh_flags: u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR),
            sh_addr: TEXT,
            sh_size: functions * FUNCTION_BYTES,
            ..header(text, FUNCTION_BYTES)
        });
        writer.write_section_header(&SectionHeader {
            sh_type: elf::SHT_PROGBITS,
            sh_flags: u64::from(elf::SHF_ALLOC),
            sh_addr: sleds_address(functions),
            sh_offset: self.sleds_offset as u64,
            sh_size: self.sleds.len() as u64,
            ..header(sleds, sled64::BYTES as u64)
        });
        if !self.note.is_empty() {
            writer.write_section_header(&SectionHeader {
                sh_type: elf::SHT_NOTE,
                sh_offset: self.note_offset as u64,
                sh_size: self.note.len() as u64,
                ..header(note, 4)
            });
        }
        writer.write_symtab_section_header(1);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
    }
}

fn header(name: StringId, align: u64) -> SectionHeader {
    SectionHeader {
        name: Some(name),
        sh_type: elf::SHT_NULL,
        sh_flags: 0,
        sh_addr: 0,
        sh_offset: 0,
        sh_size: 0,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: align,
        sh_entsize: 0,
    }
}

fn symbol<'a>(writer: &mut Writer<'a>, name: &'a str, text: SectionIndex) -> Option<StringId> {
    let name = name.split('\0').next().filter(|name| !name.is_empty())?;
    writer.reserve_symbol_index(Some(text));
    Some(writer.add_string(name.as_bytes()))
}

/// Returns the addresses of functions.
fn addresses() -> impl Iterator<Item = u64> {
    (0..).map(|index| TEXT + index * FUNCTION_BYTES)
}

/// Returns the address of the section with the sleds, behind the functions.
fn sleds_address(functions: u64) -> u64 {
    (TEXT + functions * FUNCTION_BYTES).next_multiple_of(sled64::BYTES as u64)
}

fn sleds(functions: u64) -> Vec<u8> {
    let places = (sleds_address(functions)..).step_by(sled64::BYTES);
    let all = addresses().zip(places).take(functions as usize);
    all.flat_map(|(function, place)| sled(function, place)).collect()
}

/// Returns the entry at `place` of a function: its addresses are relative to their own places.
fn sled(function: u64, place: u64) -> [u8; sled64::BYTES] {
    let order = ByteOrder::Little;
    let mut entry = [0; sled64::BYTES];
    sled64::Address::set(&mut entry, order, function.wrapping_sub(place));
    sled64::Function::set(&mut entry, order, function.wrapping_sub(place + 8));
    sled64::Kind::set(&mut entry, order, SledKind::Entry as u8);
    sled64::AlwaysInstrument::set(&mut entry, order, 1);
    sled64::Version::set(&mut entry, order, SLED_VERSION_RELATIVE);
    entry
}

/// Returns the note that has a build id.
fn note(build_id: &[u8]) -> Vec<u8> {
    let sizes = [NOTE_NAME.len() as u32, build_id.len() as u32, elf::NT_GNU_BUILD_ID];
    let mut note: Vec<u8> = sizes.iter().flat_map(|number| number.to_le_bytes()).collect();
    note.extend_from_slice(NOTE_NAME);
    note.extend_from_slice(build_id);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}
