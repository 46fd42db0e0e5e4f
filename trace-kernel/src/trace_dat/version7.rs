//! The sections of version 7.

use std::collections::HashSet;
use std::io::{Cursor, Read, Seek, SeekFrom};

use super::compression::Compression;
use super::error::TraceDatError;
use super::fields::Fields;
use super::metadata::{chosen, CpuData, Metadata};
use super::version6::setting;
use crate::byte_order::ByteOrder;

/// The most sections of options, which refer to each other.
const MAX_OPTION_SECTIONS: usize = 64;

/// The flag of a compressed section.
const COMPRESSED: u16 = 1;

/// The most bytes of all sections, decompressed.
const MAX_SECTIONS: u64 = 64 << 20;

/// Reads the sections of a file, of which the first options are at `options`.
pub(super) fn read<R: Read + Seek>(
    input: &mut R,
    metadata: &mut Metadata,
    (compression, options): (Compression, u64),
) -> Result<(), TraceDatError> {
    let (order, read, left) = (metadata.order, HashSet::new(), MAX_SECTIONS);
    let mut sections = Sections { input, order, compression, read, left };
    let mut next = options;
    for _ in 0..MAX_OPTION_SECTIONS {
        if next == 0 {
            return Ok(());
        }
        let mut fields = sections.section(next)?;
        next = loop {
            let (option, size) = (fields.u16()?, fields.u32()?);
            let data = fields.bytes(size.into())?;
            if option == 0 {
                break Fields::new(&*data, order).u64()?;
            }
            sections.take(metadata, option, &data)?;
        };
    }
    Err(TraceDatError::Malformed("options: too many sections"))
}

/// Reads sections, each once.
struct Sections<'a, R> {
    input: &'a mut R,
    order: ByteOrder,
    compression: Compression,
    /// The offsets of the sections that were read.
    read: HashSet<u64>,
    /// How many bytes further sections may have.
    left: u64,
}

impl<R: Read + Seek> Sections<'_, R> {
    /// Takes an option, and reads the section that it refers to.
    fn take(
        &mut self,
        metadata: &mut Metadata,
        option: u16,
        data: &[u8],
    ) -> Result<(), TraceDatError> {
        if let Some(setting) = setting(option) {
            return metadata.set(setting, data);
        }
        let parse = match option {
            3 => return self.buffer(metadata, data),
            16 => Metadata::header_info,
            17 => Metadata::ftrace_formats,
            18 => Metadata::event_formats,
            21 => Metadata::names,
            _ => return Ok(()),
        };
        let offset = Fields::new(data, self.order).u64()?;
        parse(metadata, &mut self.section(offset)?)
    }

    /// Reads the section at an offset, decompressed.
    fn section(&mut self, offset: u64) -> Result<Fields<Cursor<Vec<u8>>>, TraceDatError> {
        if !self.read.insert(offset) {
            return Err(TraceDatError::Malformed("options: two refer to one section"));
        }
        let (compression, left) = (self.compression, self.left);
        let (mut fields, flags) = self.header(offset)?;
        let (_, size) = (fields.u32()?, fields.u64()?);
        let bytes = if flags & COMPRESSED != 0 {
            compression.read(&mut fields, left, offset)?
        } else if size > left {
            return Err(TraceDatError::TooLarge { offset, limit: left });
        } else {
            fields.bytes(size)?
        };
        self.left -= bytes.len() as u64;
        Ok(Fields::new(Cursor::new(bytes), self.order))
    }

    /// Reads the start of a section: its number, and its flags.
    fn header(&mut self, offset: u64) -> Result<(Fields<&mut R>, u16), TraceDatError> {
        self.input.seek(SeekFrom::Start(offset))?;
        let mut fields = Fields::new(&mut *self.input, self.order);
        let (_, flags) = (fields.u16()?, fields.u16()?);
        Ok((fields, flags))
    }

    /// Takes the option of a buffer: its clock, and where the pages of its CPUs are.
    fn buffer(&mut self, metadata: &mut Metadata, data: &[u8]) -> Result<(), TraceDatError> {
        let mut fields = Fields::new(data, self.order);
        let (offset, _name, clock) = (fields.u64()?, fields.string()?, fields.string()?);
        let (page_size, cpus) = (fields.u32()? as usize, fields.u32()?);
        let page_size = Some(page_size).filter(|size| *size > 0);
        let (_, flags) = self.header(offset)?;
        let is_compressed = flags & COMPRESSED != 0;
        let mut areas = Vec::new();
        for _ in 0..cpus {
            let (cpu, offset, size) = (fields.u32()?, fields.u64()?, fields.u64()?);
            let cpu = cpu.try_into().map_err(|_| TraceDatError::Malformed("number of a CPU"))?;
            areas.push(CpuData { cpu, offset, size, is_compressed, page_size });
        }
        let (is_first, clock) = (metadata.cpus.is_empty(), chosen(&clock));
        metadata.add_buffer(areas)?;
        match is_first {
            true => metadata.clock = clock.into(),
            false if metadata.clock != clock => {
                return Err(TraceDatError::Malformed("buffers: they have different clocks"));
            }
            false => {}
        }
        Ok(())
    }
}
