//! Maps of programs that clang built, and maps of ours.

use std::process::Command;

use trace_xray::layout::SledKind;
use trace_xray::map::{self, Map};

use crate::text;
use crate::tools::{compile, source, xray, Work};

/// Returns the sleds of a map as `llvm-xray extract` prints them.
fn listed(map: &Map) -> String {
    let name = |kind| SledKind::ALL.iter().find(|(other, _)| *other == kind).unwrap().1;
    let sleds = map.sleds().iter().map(|sled| {
        let function = map.function(sled.id).unwrap();
        format!(
            "- {{ id: {}, address: {:#X}, function: {:#X}, kind: {}, always-instrument: {}, \
             function-name: {}, version: {} }}\n",
            sled.id.number(),
            sled.address,
            sled.function,
            name(sled.kind),
            sled.always_instrument,
            function.name().unwrap_or_default(),
            sled.version
        )
        .replace("0X", "0x")
    });
    let sleds: String = sleds.collect();
    format!("---\n{sleds}...\n")
}

/// Long lines of YAML are wrapped, and some names are in quotes.
fn plain(yaml: &str) -> String {
    let lines: Vec<_> = yaml.split("\n ").map(str::trim_start).collect();
    lines.join("").replace(",  ", ", ").replace('\'', "")
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn sleds_of_programs_and_libraries() {
    let work = Work::new();
    let subject = source("subject.cpp");
    for (name, options) in [
        ("pie", &["-fPIE", "-pie"][..]),
        ("fixed", &["-fno-pie", "-no-pie"]),
        ("library.so", &["-fPIC", "-shared", "-Wl,-z,undefs"]),
    ] {
        let program = compile(&work, &subject, name, options);
        let extracted = xray(&["extract", "-symbolize", program.to_str().unwrap()]).unwrap();
        let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
        assert!(map.sleds().len() >= 20, "{name}");
        text::same_text(&listed(&map), &plain(&extracted), name);
        // The same from YAML, but for the build id.
        let from_yaml = Map::parse(extracted.as_bytes()).unwrap();
        text::same_text(&listed(&from_yaml), &listed(&map), name);
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn sleds_with_relocations() {
    let work = Work::new();
    let options = ["-shared", "-nostdlib", "-fno-xray-link-deps", "-Wl,-Bsymbolic"];
    let library = compile(&work, &source("absolute.s"), "library.so", &options);
    let extracted = xray(&["extract", "-symbolize", library.to_str().unwrap()]).unwrap();
    let map = Map::parse(&std::fs::read(&library).unwrap()).unwrap();
    assert_eq!(listed(&map).matches("function-name: first").count(), 2);
    text::same_text(&listed(&map), &plain(&extracted), "relocations");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn names_of_rust_functions() {
    let work = Work::new();
    let program = |mangling: &str| {
        let program = work.path().join(mangling);
        let status = Command::new("rustc")
            // Sleds are an unstable feature.
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["-Zinstrument-xray=always", "-Zunstable-options", "--edition=2021", "-o"])
            .arg(&program)
            .arg(format!("-Csymbol-mangling-version={mangling}"))
            .arg(source("subject.rs"))
            .status();
        assert!(status.unwrap().success());
        let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
        let functions = map.functions().filter_map(|(_, function)| function.name());
        (program, functions.collect::<Vec<_>>())
    };
    let (_, names) = program("legacy");
    for name in ["subject::main", "subject::server::Queue<T>::push"] {
        assert!(names.iter().any(|other| other == name), "{name} in {names:#?}");
    }
    // LLVM demangles the newer form only.
    let (program, names) = program("v0");
    for name in ["subject::main", "<subject::server::Queue<u8>>::push"] {
        assert!(names.iter().any(|other| other == name), "{name} in {names:#?}");
    }
    let extracted = plain(&xray(&["extract", "-symbolize", program.to_str().unwrap()]).unwrap());
    for name in &names {
        let name = format!("function-name: {}, version", name.replace('\'', ""));
        assert!(extracted.contains(&name), "{name}");
    }
}

/// LLVM's reader stops at relocations without a symbol, which such a program has.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn static_programs_that_can_be_moved() {
    let work = Work::new();
    let program = compile(&work, &source("subject.cpp"), "program", &["-static-pie", "-fPIE"]);
    xray(&["extract", program.to_str().unwrap()]).unwrap_err();
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    let names: Vec<_> = map.functions().filter_map(|(_, function)| function.name()).collect();
    assert!(names.iter().any(|name| name == "tail_caller"), "{names:?}");
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn functions_without_sleds_have_names() {
    let work = Work::new();
    let names: Vec<_> = (1..=10_000).map(|number| format!("crate::module::f{number}")).collect();
    let file = map::write(&names, Some(b"build id of 20 bytes")).unwrap();
    let path = work.file("names", &file);
    let extracted = xray(&["extract", "-symbolize", path.to_str().unwrap()]).unwrap();
    let map = Map::parse(&file).unwrap();
    text::same_text(&listed(&map), &plain(&extracted), "names");
    let all: Vec<_> = map.functions().map(|(_, function)| function.name().unwrap()).collect();
    assert_eq!(all, names);
}
