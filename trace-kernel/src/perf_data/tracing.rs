//! The formats of tracepoints, which perf stores as trace-cmd does.

use super::error::PerfDataError;
use crate::byte_order::ByteOrder;
use crate::decode::Decoder;
use crate::trace_dat::fields::Fields;
use crate::trace_dat::metadata::Metadata;
use crate::trace_dat::TraceDatError;

/// The first bytes.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Formats, and names of threads.
#[derive(Debug, Default)]
pub(super) struct Formats {
    pub(super) decoder: Decoder,
    pub(super) names: Vec<(u64, String)>,
}

/// Reads formats.
pub(super) fn read(bytes: &[u8]) -> Result<Formats, PerfDataError> {
    let mut metadata = Metadata::default();
    parse(bytes, &mut metadata).map_err(PerfDataError::Formats)?;
    let decoder = Decoder::new(metadata.order, metadata.formats);
    Ok(Formats { decoder, names: metadata.names })
}

fn parse(bytes: &[u8], metadata: &mut Metadata) -> Result<(), TraceDatError> {
    let mut fields = Fields::new(bytes, ByteOrder::Little);
    fields.expect(MAGIC, "magic number")?;
    let version = fields.string()?;
    metadata.order = match fields.u8()? {
        0 => ByteOrder::Little,
        _ => ByteOrder::Big,
    };
    fields.order = metadata.order;
    // The sizes of a long number and of a page.
    fields.skip(1 + 4)?;
    metadata.header_info(&mut fields)?;
    metadata.ftrace_formats(&mut fields)?;
    metadata.event_formats(&mut fields)?;
    // Symbols of the kernel, and formats of `trace_printk`.
    for _ in 0..2 {
        let size = fields.u32()?;
        fields.skip(size.into())?;
    }
    match &*version {
        "0.5" => Ok(()),
        _ => metadata.names(&mut fields),
    }
}
