//! Metadata, and string and thread records.

use std::fmt::{self, Write};

use trace_format::layout::{record, ProviderEvent};
use trace_format::{Metadata, ThreadKoids, UnknownRecord};

use super::{koids, quoted};

pub(super) fn metadata(output: &mut dyn Write, metadata: &Metadata<'_>) -> fmt::Result {
    match metadata {
        Metadata::MagicNumber => write!(output, "magic-number"),
        Metadata::ProviderInfo { id, name } => {
            write!(output, "provider-info {id}")?;
            quoted(output, &String::from_utf8_lossy(name))
        }
        Metadata::ProviderSection { id } => write!(output, "provider-section {id}"),
        Metadata::ProviderEvent { id, event: ProviderEvent::BUFFER_FULL } => {
            write!(output, "provider-event {id} buffer-full")
        }
        Metadata::ProviderEvent { id, event } => {
            write!(output, "provider-event {id} event {}", event.bits())
        }
    }
}

pub(super) fn string(output: &mut dyn Write, index: u16, value: &[u8]) -> fmt::Result {
    write!(output, "string {index}")?;
    quoted(output, &String::from_utf8_lossy(value))
}

pub(super) fn thread(output: &mut dyn Write, index: u8, thread: ThreadKoids) -> fmt::Result {
    write!(output, "thread {index}")?;
    koids(output, thread)
}

pub(super) fn unknown(output: &mut dyn Write, unknown: &UnknownRecord<'_>) -> fmt::Result {
    let record_type = record::Type::get(unknown.header);
    let (header, bytes) = (unknown.header, unknown.payload.len());
    write!(output, "unknown type {record_type} header {header:#018x} and {bytes} bytes")
}
