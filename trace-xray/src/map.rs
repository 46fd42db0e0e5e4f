//! Instrumentation maps: the functions of a program by id.
//!
//! A program that is built with XRay has an entry for each sled in its section `xray_instr_map`. It
//! does not contain the ids of functions: functions are numbered from 1, in the order of their
//! first sleds. [`Map::parse`] reads the section of an ELF file, or the YAML that `llvm-xray
//! extract` writes. [`write()`] makes an ELF file for functions without sleds.

mod elf;
mod error;
mod names;
mod program;
mod write;
mod yaml;

use std::collections::BTreeMap;

pub use error::{MapError, Mismatch};
pub use names::Names;
pub use program::Program;
pub use write::write;

use crate::layout::SledKind;
use crate::record::FunctionId;

/// A place in a program that XRay can patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sled {
    /// The id of its function.
    pub id: FunctionId,
    /// Its address.
    pub address: u64,
    /// The address of its function.
    pub function: u64,
    /// The kind of its records.
    pub kind: SledKind,
    /// Whether the function has the attribute `xray_always_instrument`.
    pub always_instrument: bool,
    /// The version of its entry.
    pub version: u8,
}

/// A function of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its address.
    pub address: u64,
    /// Its symbol as it is in the program, if it has one.
    pub symbol: Option<String>,
}

impl Function {
    /// Returns the function's name: the symbol, demangled if it is one of Rust or C++.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.symbol.as_deref().map(trace_symbols::demangle)
    }
}

/// An instrumentation map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Map {
    sleds: Vec<Sled>,
    functions: BTreeMap<FunctionId, Function>,
    build_id: Option<Vec<u8>>,
}

impl Map {
    /// Reads a map from the content of a file: a program or shared library in ELF, or YAML.
    ///
    /// # Errors
    ///
    /// The file is neither, is damaged, or has no map.
    pub fn parse(file: &[u8]) -> Result<Self, MapError> {
        if file.starts_with(&object::elf::ELFMAG) {
            return elf::read(file);
        }
        match std::str::from_utf8(file) {
            Ok(text) => yaml::read(text),
            Err(_) => Err(MapError::UnknownFormat),
        }
    }

    /// Returns a map of functions whose names are known, but not their addresses.
    pub(crate) fn of_names(names: impl IntoIterator<Item = (FunctionId, String)>) -> Self {
        let function = |(id, name)| (id, Function { address: 0, symbol: Some(name) });
        Self { functions: names.into_iter().map(function).collect(), ..Self::default() }
    }

    /// Returns whether no function is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns all sleds, in the order of the file.
    #[must_use]
    pub fn sleds(&self) -> &[Sled] {
        &self.sleds
    }

    /// Returns the map as YAML, in the form of `llvm-xray extract -symbolize`.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        yaml::text(self)
    }

    /// Returns all functions by id.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().map(|(id, function)| (*id, function))
    }

    /// Returns the function of an id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(&id)
    }

    /// Returns the build id of the program, if the map has it.
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Returns the id of the map of a log, which is a build id of 8 bytes. The
    /// [header](crate::Header::map_id) of its log has the same.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        Some(u64::from_be_bytes(self.build_id()?.try_into().ok()?))
    }

    /// Checks that the map belongs to a program.
    ///
    /// If both have build ids, these must be equal. Otherwise the functions must be at the
    /// addresses in the program's own map, or, if it has none, within its code.
    ///
    /// # Errors
    ///
    /// Fails if the map belongs to another program.
    pub fn check(&self, program: &Program) -> Result<(), Mismatch> {
        if let (Some(map), Some(program)) = (self.build_id(), program.build_id()) {
            return if map == program {
                Ok(())
            } else {
                Err(Mismatch::BuildId { map: map.to_vec(), program: program.to_vec() })
            };
        }
        self.functions().try_for_each(|(id, function)| program.check(id, function.address))
    }

    /// Adds a sled. The first one of a function defines the function.
    fn add(&mut self, sled: Sled, symbol: Option<String>) {
        self.sleds.push(sled);
        let function = Function { address: sled.function, symbol };
        self.functions.entry(sled.id).or_insert(function);
    }
}
