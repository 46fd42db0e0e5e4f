//! The program to check a map against.

use std::ops::Range;

use object::{elf, File, Object, ObjectSegment, SegmentFlags};

use super::elf as map_elf;
use super::{MapError, Mismatch};
use crate::record::FunctionId;

/// The parts of a program or shared library that identify it for a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    build_id: Option<Vec<u8>>,
    /// The addresses of the functions of its own map, by id.
    functions: Option<Vec<u64>>,
    code: Vec<Range<u64>>,
}

impl Program {
    /// Reads an ELF file.
    ///
    /// # Errors
    ///
    /// The file is damaged. It need not have a map.
    pub fn parse(bytes: &[u8]) -> Result<Self, MapError> {
        let file = File::parse(bytes)?;
        let functions = match map_elf::entries(&file) {
            Ok(entries) => {
                let mut functions: Vec<_> = entries.iter().map(|entry| entry.function).collect();
                functions.dedup();
                Some(functions)
            }
            Err(MapError::NoSection) => None,
            Err(error) => return Err(error),
        };
        let build_id = file.build_id()?.map(<[u8]>::to_vec);
        Ok(Self { build_id, functions, code: code(&file) })
    }

    /// Returns the build id, if the program has one.
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Returns whether it has code. A map of [`write()`](super::write()) has none.
    #[must_use]
    pub fn has_code(&self) -> bool {
        !self.code.is_empty()
    }

    /// Checks that a function can be at an address.
    pub(super) fn check(&self, id: FunctionId, address: u64) -> Result<(), Mismatch> {
        let Some(functions) = &self.functions else {
            let is_code = self.code.iter().any(|range| range.contains(&address));
            return if is_code { Ok(()) } else { Err(Mismatch::Address { id, address }) };
        };
        let index = (id.number() as usize).checked_sub(1);
        let program = index.and_then(|index| functions.get(index)).copied();
        if program == Some(address) {
            return Ok(());
        }
        Err(Mismatch::Function { id, map: address, program })
    }
}

/// Returns the addresses of executable segments.
fn code(file: &File<'_>) -> Vec<Range<u64>> {
    let is_code =
        |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & elf::PF_X != 0);
    file.segments()
        .filter(|segment| is_code(segment.flags()))
        .map(|segment| segment.address()..segment.address().saturating_add(segment.size()))
        .collect()
}
