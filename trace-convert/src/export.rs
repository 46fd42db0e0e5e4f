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

/// Calls the method of an exporter for the type of a record. Events have a faster path.
macro_rules! convert_by_type {
    ($exporter:ident, $item:ident) => {
        match &$item.record {
            Record::Blob(blob) => $exporter.blob($item, blob),
            Record::UserspaceObject(object) => $exporter.userspace_object($item, object),
            Record::KernelObject(object) => $exporter.kernel_object($item, object),
            Record::LegacyContextSwitch(_) | Record::ContextSwitch(_) => {
                $exporter.context_switch($item);
            }
            Record::ThreadWakeup(wakeup) => $exporter.thread_wakeup($item, wakeup),
            Record::Log(log) => $exporter.log($item, log),
            Record::Module(module) => $exporter.module($item, module),
            Record::Mmap(mmap) => $exporter.mmap($item, mmap),
            Record::Backtrace(backtrace) => $exporter.backtrace($item, backtrace),
            Record::LargeBlob(blob) => $exporter.large_blob($item, blob),
            Record::Metadata(Metadata::ProviderEvent { id, event }) => {
                $exporter.provider_event(*id, *event);
            }
            Record::Event(_)
            | Record::Metadata(_)
            | Record::Initialization { .. }
            | Record::String { .. }
            | Record::Thread { .. }
            | Record::Unknown(_) => {}
        }
    };
}

pub(crate) use convert_by_type;

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
