//! Why a map cannot be read or does not belong to a program.

use std::fmt;

use crate::record::FunctionId;
use crate::yaml_parser::YamlError;

/// Why a map cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// The file is neither ELF nor text.
    UnknownFormat,
    /// The ELF file is damaged, or of a form that is not supported.
    Elf(String),
    /// The ELF file has no section with sleds.
    NoSection,
    /// The ELF file has the size of the section only, as files of debug information have.
    NoContent,
    /// The YAML has no functions.
    NoFunctions,
    /// The ELF file is not linked.
    NotLinked,
    /// The section ends within an entry.
    SectionSize {
        /// The size of the section.
        size: usize,
        /// The size of an entry.
        entry: usize,
    },
    /// A sled is of an unknown kind.
    SledKind {
        /// The number of the sled, from 0 on.
        index: usize,
        /// The kind.
        kind: u8,
    },
    /// There are more functions than ids.
    TooManyFunctions,
    /// The YAML is not that of a map.
    Yaml {
        /// The line, from 1 on.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat => write!(f, "the file is neither ELF nor YAML"),
            Self::Elf(message) => write!(f, "invalid ELF file: {message}"),
            Self::NoSection => write!(f, "the program has no section xray_instr_map"),
            Self::NoContent => write!(
                f,
                "the section xray_instr_map has no content, as in a file of debug information"
            ),
            Self::NoFunctions => write!(f, "the map has no functions"),
            Self::NotLinked => write!(f, "the ELF file is an object file, not a linked program"),
            Self::SectionSize { size, entry } => {
                write!(f, "section xray_instr_map: {size} bytes are no multiple of {entry}")
            }
            Self::SledKind { index, kind } => write!(f, "sled {index} has unknown kind {kind}"),
            Self::TooManyFunctions => write!(f, "the map has more functions than ids exist"),
            Self::Yaml { line, message } => write!(f, "line {line}: {message}"),
        }
    }
}

impl std::error::Error for MapError {}

impl From<YamlError> for MapError {
    fn from(YamlError { line, message }: YamlError) -> Self {
        Self::Yaml { line, message }
    }
}

/// How a map differs from a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The build ids differ.
    BuildId {
        /// That of the map.
        map: Vec<u8>,
        /// That of the program.
        program: Vec<u8>,
    },
    /// The program's own map has another address for a function.
    Function {
        /// The function.
        id: FunctionId,
        /// Its address in the map.
        map: u64,
        /// Its address in the program, `None` if the program has no such function.
        program: Option<u64>,
    },
    /// A function is outside of the program's code.
    Address {
        /// The function.
        id: FunctionId,
        /// Its address in the map.
        address: u64,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuildId { map, program } => {
                write!(f, "the map is of build id {}, ", Hex(map))?;
                write!(f, "the program has build id {}", Hex(program))
            }
            Self::Function { id, map, program: Some(program) } => {
                write!(f, "function {id} is at {map:#x} in the map, at {program:#x} in the program")
            }
            Self::Function { id, program: None, .. } => {
                write!(f, "the program has no function {id}")
            }
            Self::Address { id, address } => {
                write!(f, "function {id} at {address:#x} is outside of the program's code")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
