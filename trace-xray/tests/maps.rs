//! Instrumentation maps: written and read, damaged, and of another program.

use object::write::elf::{FileHeader, SectionHeader, Writer};
use object::{elf, Endianness};
use proptest::prelude::*;
use trace_xray::layout::SledKind;
use trace_xray::map::{write, Map, MapError, Mismatch, Program};
use trace_xray::FunctionId;

fn id(number: u32) -> FunctionId {
    FunctionId::new(number).unwrap()
}

fn names(map: &Map) -> Vec<Option<String>> {
    map.functions().map(|(_, function)| function.name()).collect()
}

const YAML: &str = "---
- { id: 1, address: 0x23380, function: 0x23380, kind: function-enter, always-instrument: true, function-name: leaf, version: 2 }
- { id: 1, address: 0x2338E, function: 0x23380, kind: function-exit, always-instrument: true, function-name: leaf, version: 2 }
- { id: 7, address: 9232, function: 0X2400, kind: log-args-enter, always-instrument: false,
    function-name: '_RNvCs1234_7mycrate3foo' }
- id: 8
  address: 0x2500
  function: 0x2500
  kind: custom-event
  always-instrument: true
  unknown: [1
...
";

#[test]
fn yaml() {
    let map = Map::parse(YAML.replace("[1", "1").as_bytes()).unwrap();
    let kinds: Vec<_> = map.sleds().iter().map(|sled| sled.kind).collect();
    let expected = [SledKind::Entry, SledKind::Exit, SledKind::LogArgsEntry, SledKind::CustomEvent];
    assert_eq!(kinds, expected);
    let sled = map.sleds()[2];
    assert_eq!((sled.id, sled.address, sled.function), (id(7), 0x2410, 0x2400));
    assert_eq!((sled.always_instrument, sled.version), (false, 0));
    assert_eq!(map.function(id(1)).unwrap().address, 0x23380);
    assert_eq!(map.function(id(2)), None);
    let all = names(&map);
    assert_eq!(all, [Some("leaf".to_owned()), Some("mycrate::foo".to_owned()), None]);
    assert_eq!(map.build_id(), None);
}

#[test]
fn invalid_yaml() {
    let error = |text: &str| match Map::parse(text.as_bytes()).unwrap_err() {
        MapError::Yaml { line, message } => (line, message),
        error => panic!("{error:?}"),
    };
    assert_eq!(error(YAML).0, 11);
    let entry = |rest: &str| {
        let start = "- { address: 1, function: 1, kind: function-enter, always-instrument: true";
        error(&format!("---\n{start}{rest} }}\n"))
    };
    assert_eq!(entry("").1, "the sled is not complete");
    assert_eq!(entry(", id: x"), (2, "invalid id: x".to_owned()));
    assert_eq!(entry(", id: 268435456").1, "invalid id: 268435456");
    assert_eq!(entry(", id: 1, kind: typed").1, "invalid kind: typed");
    assert_eq!(entry(", id: 1, version: 256").1, "invalid version: 256");
    assert_eq!(entry(", id: [1]").1, "expected a value for id");
    assert_eq!(error("a: b").1, "expected a sequence of sleds");
    assert_eq!(error("- a\n- b").1, "expected a sled");
    assert_eq!(error("").1, "expected a sequence of sleds");
    assert_eq!(Map::parse(b"\xff\xfe"), Err(MapError::UnknownFormat));
}

#[test]
fn functions_without_sleds_have_names() {
    let list =
        ["main", "", "<T as a::B>::c", "été", "nul\0hidden", "_ZN3foo3bar17h0123456789abcdefE"];
    let map = Map::parse(&write(&list, Some(&[7; 20])).unwrap()).unwrap();
    let shown = ["main", "<T as a::B>::c", "été", "nul", "foo::bar"];
    let found: Vec<_> = names(&map).into_iter().flatten().collect();
    assert_eq!(found, shown);
    assert_eq!(map.functions().count(), 6);
    assert_eq!(map.function(id(2)).unwrap().symbol, None);
    assert_eq!(map.build_id(), Some(&[7; 20][..]));
    let none: [&str; 0] = [];
    let map = Map::parse(&write(&none, None).unwrap()).unwrap();
    assert_eq!((map.functions().count(), map.build_id()), (0, None));
}

#[test]
fn a_program_without_sleds() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(Map::parse(&program), Err(MapError::NoSection));
    // Addresses inside and outside of its code.
    let program = Program::parse(&program).unwrap();
    let yaml = |address: u64| {
        let rest = "kind: function-enter, always-instrument: true";
        let text = format!("- {{ id: 3, address: {address}, function: {address}, {rest} }}\n");
        Map::parse(text.as_bytes()).unwrap().check(&program)
    };
    assert_eq!(yaml(u64::MAX), Err(Mismatch::Address { id: id(3), address: u64::MAX }));
    let message = yaml(4).unwrap_err().to_string();
    assert_eq!(message, "function #3 at 0x4 is outside of the program's code");
}

#[test]
fn a_map_of_another_program() {
    let map = |names: &[&str], build_id| Map::parse(&write(names, build_id).unwrap()).unwrap();
    let program =
        |names: &[&str], build_id| Program::parse(&write(names, build_id).unwrap()).unwrap();
    let three = ["a", "b", "c"];
    assert_eq!(map(&three, Some(&[1])).check(&program(&three, Some(&[1]))), Ok(()));
    let error = map(&three, Some(&[1])).check(&program(&three, Some(&[2, 255]))).unwrap_err();
    let message = "the map is of build id 01, the program has build id 02ff";
    assert_eq!(error.to_string(), message);
    // Without both build ids the addresses decide.
    assert_eq!(map(&three, None).check(&program(&three, Some(&[2]))), Ok(()));
    let error = map(&three, None).check(&program(&three[..2], None)).unwrap_err();
    assert_eq!(error.to_string(), "the program has no function #3");
}

fn names_of_two() -> Vec<u8> {
    write(&["first", "second"], Some(&[1; 20])).unwrap()
}

#[test]
fn elf_files_that_are_no_programs() {
    let mut relocatable = names_of_two();
    relocatable[16] = 1;
    assert_eq!(Map::parse(&relocatable), Err(MapError::NotLinked));
    let mut kind = names_of_two();
    let at = kind.windows(3).position(|bytes| bytes == [0, 1, 2]).unwrap();
    kind[at] = 9;
    assert_eq!(Map::parse(&kind), Err(MapError::SledKind { index: 0, kind: 9 }));
    let mut size = names_of_two();
    let at = size.windows(8).rposition(|bytes| bytes == 64u64.to_le_bytes()).unwrap();
    size[at] = 63;
    assert_eq!(Map::parse(&size), Err(MapError::SectionSize { size: 63, entry: 32 }));
}

/// Sleds before version 2 have addresses, not distances.
#[test]
fn absolute_sleds() {
    let mut file = names_of_two();
    let at = file.windows(3).position(|bytes| bytes == [0, 1, 2]).unwrap();
    file[at + 2] = 1;
    file[at - 16..at - 8].copy_from_slice(&0x1234u64.to_le_bytes());
    file[at - 8..at].copy_from_slice(&0x1000u64.to_le_bytes());
    let map = Map::parse(&file).unwrap();
    let sled = map.sleds()[0];
    assert_eq!((sled.address, sled.function, sled.version), (0x1234, 0x1000, 1));
    assert_eq!(names(&map)[0].as_deref(), Some("first"));
}

/// Returns an ELF file for ARM, big or little endian, that has these sleds at 0x8000.
fn elf32(endian: Endianness, sleds: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(endian, false, &mut bytes);
    writer.reserve_file_header();
    writer.reserve_null_section_index();
    let name = writer.add_section_name(b"xray_instr_map");
    writer.reserve_section_index();
    let offset = writer.reserve(sleds.len(), 1);
    writer.reserve_shstrtab_section_index();
    writer.reserve_shstrtab();
    writer.reserve_section_headers();
    let header = FileHeader {
        os_abi: 0,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: elf::EM_ARM,
        e_entry: 0,
        e_flags: 0,
    };
    writer.write_file_header(&header).unwrap();
    writer.write(sleds);
    writer.write_shstrtab();
    writer.write_null_section_header();
    writer.write_section_header(&SectionHeader {
        name: Some(name),
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SHF_ALLOC.into(),
        sh_addr: 0x8000,
        sh_offset: offset as u64,
        sh_size: sleds.len() as u64,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 1,
        sh_entsize: 0,
    });
    writer.write_shstrtab_section_header();
    bytes
}

/// The second sled is relative: 0x7000 below its fields.
#[test]
fn programs_of_32_bits() {
    let sleds = |number: fn(u32) -> [u8; 4]| {
        let (absolute, distance) = (number(0x1234), 0u32.wrapping_sub(0x7000));
        let first = [&absolute[..], &number(0x1230), &[1, 1, 0, 0, 0, 0, 0, 0]].concat();
        let second = [&number(distance)[..], &number(distance), &[0, 0, 2, 0, 0, 0, 0, 0]].concat();
        [first, second].concat()
    };
    let little = elf32(Endianness::Little, &sleds(u32::to_le_bytes));
    let big = elf32(Endianness::Big, &sleds(u32::to_be_bytes));
    for file in [little, big] {
        let map = Map::parse(&file).unwrap();
        let places: Vec<_> = map
            .sleds()
            .iter()
            .map(|sled| (sled.id.number(), sled.address, sled.function))
            .collect();
        assert_eq!(places, [(1, 0x1234, 0x1230), (2, 0x1010, 0x1014)]);
        let [first, second] = map.sleds() else { panic!("two sleds") };
        assert_eq!((first.kind, first.always_instrument), (SledKind::Exit, true));
        assert_eq!((second.kind, second.always_instrument), (SledKind::Entry, false));
    }
}

#[test]
fn cut_files_are_errors_or_maps() {
    let file = names_of_two();
    for size in 0..file.len() {
        let _ = Map::parse(&file[..size]);
        let _ = Program::parse(&file[..size]);
    }
    for size in 0..YAML.len() {
        let _ = Map::parse(&YAML.as_bytes()[..size]);
    }
}

/// A file of debug information has the size of the section only.
#[test]
fn maps_without_content_are_errors() {
    let mut file = names_of_two();
    let start = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
    let is_map =
        |header: &[u8]| header[4..8] == [1, 0, 0, 0] && header[32..40] == 64u64.to_le_bytes();
    let at = (start..file.len()).step_by(64).find(|at| is_map(&file[*at..])).unwrap();
    file[at + 4] = 8;
    assert_eq!(Map::parse(&file), Err(MapError::NoContent));
    for yaml in ["[]", "--- []\n...\n"] {
        assert_eq!(Map::parse(yaml.as_bytes()), Err(MapError::NoFunctions), "{yaml}");
    }
}

proptest! {
    #[test]
    fn written_maps_are_read(
        list in proptest::collection::vec("[^\0]{0,20}", 0..50),
        build_id in proptest::option::of(proptest::collection::vec(any::<u8>(), 1..30)),
    ) {
        let map = Map::parse(&write(&list, build_id.as_deref()).unwrap()).unwrap();
        let symbols = map.functions().map(|(_, function)| function.symbol.clone().unwrap_or_default());
        prop_assert_eq!(symbols.collect::<Vec<_>>(), list);
        prop_assert_eq!(map.build_id(), build_id.as_deref());
        let ids: Vec<_> = map.functions().map(|(id, _)| id.number()).collect();
        prop_assert!(ids.iter().copied().eq(1..=ids.len() as u32));
    }

    #[test]
    fn changed_files_do_not_panic(at in 0..2000usize, byte in any::<u8>()) {
        let mut file = names_of_two();
        let at = at % file.len();
        file[at] = byte;
        let _ = Map::parse(&file);
        let _ = Program::parse(&file);
    }
}
