//! The driver of all exporters that write while an archive is read.

use std::io::{self, Read, Write};

use trace_analyze::Damage;
use trace_format::{Item, Reader};

use crate::blobs::Blobs;
use crate::{Conversion, ConvertError};

/// Converts records to another format.
pub(crate) trait Exporter {
    /// Converts the next record.
    fn record(&mut self, item: &Item<'_>);

    /// Writes the buffered output if it is large enough.
    fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()>;

    /// Writes the rest of the output, and the archive's damage if the format can express it.
    fn finish(self, damage: Damage, output: &mut impl Write) -> io::Result<Conversion>;
}

/// Converts all records of `reader`, and flushes `output` at the end.
pub(crate) fn export<R: Read, W: Write>(
    reader: Reader<R>,
    mut exporter: impl Exporter,
    mut output: W,
) -> Result<Conversion, ConvertError> {
    let mut blobs = Blobs::default();
    let damage = Damage::of_each(reader, |item| {
        blobs.push(item, &mut |item| exporter.record(item))?;
        exporter.write_full_pieces(&mut output).map_err(ConvertError::Write)
    })?;
    blobs.finish(&mut |item| exporter.record(item));
    let conversion = exporter.finish(damage, &mut output)?;
    output.flush()?;
    Ok(conversion)
}
