//! One loop for all outputs that are written as an archive is read.

use std::io::{self, Read, Write};

use trace_analyze::Damage;
use trace_format::{Item, Reader};

use crate::blobs::Blobs;
use crate::{Conversion, ConvertError};

/// Makes another format of records.
pub(crate) trait Exporter {
    /// Takes the next record.
    fn record(&mut self, item: &Item<'_>);

    /// Writes what there is once that is worth it.
    fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()>;

    /// Writes the rest, and what is missing in the archive if the format has a place for it.
    fn finish(self, damage: Damage, output: &mut impl Write) -> io::Result<Conversion>;
}

/// Writes all that `reader` reads to `output`, which is flushed at the end.
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
