//! FXT records as payloads of custom events.

use trace_format::layout::WORD_BYTES;
use trace_format::{decode, Process, Record, Reference, Text, Thread};

/// Returns the record that a payload consists of.
///
/// A payload of another kind hardly ever passes: the record has exactly its size, is well-formed,
/// needs no table, and is one that a provider may write.
#[must_use]
pub fn record(payload: &[u8]) -> Option<Record<'_>> {
    if payload.len() % WORD_BYTES != 0 {
        return None;
    }
    let header = payload.first_chunk().map(|word| u64::from_le_bytes(*word))?;
    if decode::record_bytes(header).ok()? != payload.len() as u64 {
        return None;
    }
    let (record, appended) = decode::strict(payload).ok()?;
    (appended == 0 && is_event(&record) && is_complete(&record)).then_some(record)
}

/// Returns whether the record is an event or describes one.
fn is_event(record: &Record<'_>) -> bool {
    let is_other = matches!(
        record,
        Record::Metadata(_)
            | Record::Initialization { .. }
            | Record::String { .. }
            | Record::Thread { .. }
            | Record::Unknown(_)
    );
    !is_other
}

/// Returns whether all strings and threads are inline.
fn is_complete(record: &Record<'_>) -> bool {
    let mut is_complete = true;
    record.references(|reference| {
        is_complete &= !matches!(
            reference,
            Reference::Text(Text::Indexed(_))
                | Reference::Thread(Thread::Indexed(_))
                | Reference::Process(Process::Indexed(_))
        );
    });
    is_complete
}
