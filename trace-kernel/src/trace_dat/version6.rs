//! The parts of version 6, one after another.

use std::io::Read;

use super::error::TraceDatError;
use super::fields::Fields;
use super::metadata::{CpuData, Metadata, Setting};

/// Reads the file behind its version.
pub(super) fn read<R: Read>(input: &mut R, metadata: &mut Metadata) -> Result<(), TraceDatError> {
    let mut fields = Fields::new(&mut *input, metadata.order);
    metadata.header_info(&mut fields)?;
    metadata.ftrace_formats(&mut fields)?;
    metadata.event_formats(&mut fields)?;
    // Symbols of the kernel, and formats of `trace_printk`.
    for _ in 0..2 {
        let size = fields.u32()?;
        fields.skip(size.into())?;
    }
    metadata.names(&mut fields)?;
    let cpus = fields.u32()?;
    let mut part = fields.bytes(10)?;
    if part == b"options  \0" {
        options(&mut fields, metadata)?;
        part = fields.bytes(10)?;
    }
    match &*part {
        b"flyrecord\0" => cpu_data(&mut fields, metadata, cpus)?,
        b"latency  \0" => return Err(TraceDatError::Malformed("trace: it has text only")),
        _ => return Err(TraceDatError::Malformed("options")),
    }
    Ok(())
}

fn options<R: Read>(fields: &mut Fields<R>, metadata: &mut Metadata) -> Result<(), TraceDatError> {
    loop {
        let option = fields.u16()?;
        if option == 0 {
            return Ok(());
        }
        let size = fields.u32()?;
        let data = fields.bytes(size.into())?;
        if let Some(setting) = setting(option) {
            metadata.set(setting, &data)?;
        }
    }
}

/// Returns the meaning of an option's number, which both versions share.
pub(super) fn setting(option: u16) -> Option<Setting> {
    match option {
        4 => Some(Setting::TraceClock),
        14 => Some(Setting::TscToNanoseconds),
        _ => None,
    }
}

fn cpu_data<R: Read>(
    fields: &mut Fields<R>,
    metadata: &mut Metadata,
    cpus: u32,
) -> Result<(), TraceDatError> {
    let mut areas = Vec::new();
    for cpu in 0..cpus {
        let cpu = cpu.try_into().map_err(|_| TraceDatError::Malformed("number of CPUs"))?;
        let (offset, size) = (fields.u64()?, fields.u64()?);
        areas.push(CpuData { cpu, offset, size, is_compressed: false, page_size: None });
    }
    metadata.add_buffer(areas)
}
