//! The sections of version 7.

use std::io::{Cursor, Read, Seek, SeekFrom};

use super::compression::Compression;
use super::error::TraceDatError;
use super::fields::Fields;
use super::metadata::{chosen, CpuData, Metadata};
use super::version6::setting;

/// The most sections of options, which refer to each other.
const MAX_OPTION_SECTIONS: usize = 64;

/// The flag of a compressed section.
const COMPRESSED: u16 = 1;

/// Reads the sections of a file, of which the first options are at `options`.
pub(super) fn read<R: Read + Seek>(
    input: &mut R,
    metadata: &mut Metadata,
    compression: Compression,
    options: u64,
) -> Result<(), TraceDatError> {
    let mut next = options;
    for _ in 0..MAX_OPTION_SECTIONS {
        if next == 0 {
            return Ok(());
        }
        let mut fields = section(input, metadata, compression, next)?;
        next = loop {
            let (option, size) = (fields.u16()?, fields.u32()?);
            let data = fields.bytes(size.into())?;
            if option == 0 {
                break Fields::new(&*data, metadata.order).u64()?;
            }
            take(input, metadata, compression, option, &data)?;
        };
    }
    Err(TraceDatError::Malformed("options: too many sections"))
}

/// Takes an option, and reads the section that it refers to.
fn take<R: Read + Seek>(
    input: &mut R,
    metadata: &mut Metadata,
    compression: Compression,
    option: u16,
    data: &[u8],
) -> Result<(), TraceDatError> {
    if let Some(setting) = setting(option) {
        return metadata.set(setting, data);
    }
    let parse = match option {
        3 => return buffer(input, metadata, data),
        16 => Metadata::header_info,
        17 => Metadata::ftrace_formats,
        18 => Metadata::event_formats,
        21 => Metadata::names,
        _ => return Ok(()),
    };
    let offset = Fields::new(data, metadata.order).u64()?;
    parse(metadata, &mut section(input, metadata, compression, offset)?)
}

/// Reads the section at an offset, decompressed.
fn section<R: Read + Seek>(
    input: &mut R,
    metadata: &Metadata,
    compression: Compression,
    offset: u64,
) -> Result<Fields<Cursor<Vec<u8>>>, TraceDatError> {
    input.seek(SeekFrom::Start(offset))?;
    let mut fields = Fields::new(input, metadata.order);
    let (_, flags) = (fields.u16()?, fields.u16()?);
    let (_, size) = (fields.u32()?, fields.u64()?);
    let bytes = if flags & COMPRESSED == 0 {
        fields.bytes(size)?
    } else {
        let (compressed, size) = (fields.u32()?, fields.u32()?);
        compression.decompress(&fields.bytes(compressed.into())?, size, offset)?
    };
    Ok(Fields::new(Cursor::new(bytes), metadata.order))
}

/// Takes the option of a buffer: its clock, and where the pages of its CPUs are.
fn buffer<R: Read + Seek>(
    input: &mut R,
    metadata: &mut Metadata,
    data: &[u8],
) -> Result<(), TraceDatError> {
    let mut fields = Fields::new(data, metadata.order);
    let (offset, _name, clock) = (fields.u64()?, fields.string()?, fields.string()?);
    let (_page_size, cpus) = (fields.u32()?, fields.u32()?);
    input.seek(SeekFrom::Start(offset))?;
    let mut header = Fields::new(input, metadata.order);
    let (_, flags) = (header.u16()?, header.u16()?);
    let (is_first, clock) = (metadata.cpus.is_empty(), chosen(&clock));
    for _ in 0..cpus {
        let (cpu, offset, size) = (fields.u32()?, fields.u64()?, fields.u64()?);
        let cpu = cpu.try_into().map_err(|_| TraceDatError::Malformed("number of a CPU"))?;
        let is_compressed = flags & COMPRESSED != 0;
        metadata.cpus.push(CpuData { cpu, offset, size, is_compressed });
    }
    match is_first {
        true => metadata.clock = clock.into(),
        false if metadata.clock != clock => {
            return Err(TraceDatError::Malformed("buffers: they have different clocks"));
        }
        false => {}
    }
    Ok(())
}
