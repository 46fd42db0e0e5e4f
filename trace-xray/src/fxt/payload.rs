//! FXT records as payloads of custom events.

use trace_format::layout::WORD_BYTES;
use trace_format::reader::UNKNOWN_STRING;
use trace_format::{
    decode, encode, notes, Argument, Item, Process, Record, Reference, ReferenceMut, Text, Thread,
    Value,
};

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
    let is_accepted = appended == 0 && is_event(&record) && is_complete(&record);
    (is_accepted && !is_clock_anchor(&record)).then_some(record)
}

/// Returns whether the record is a clock anchor, which only the writer of an archive adds.
fn is_clock_anchor(record: &Record<'_>) -> bool {
    let Record::Event(event) = record else { return false };
    let labels = [event.category, event.name];
    labels == [Text::from(notes::CATEGORY), Text::from(notes::CLOCK_ANCHOR)]
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

/// Returns the payload with a record of an archive, with its strings and threads inline; `None` if
/// the record is too long.
pub(super) fn bytes<'a>(item: &Item<'a>, mut record: Record<'a>) -> Option<Vec<u8>> {
    record.references_mut(|reference| match reference {
        ReferenceMut::Text(text) => *text = inline(item, *text),
        ReferenceMut::Thread(thread) => *thread = Thread::Inline(item.thread(*thread)),
        ReferenceMut::Process(process) => *process = Process::Inline(item.process(*process)),
    });
    let argument = |Argument { name, value }| {
        let value = match value {
            Value::String(text) => Value::String(inline(item, text)),
            value => value,
        };
        Argument { name: inline(item, name), value }
    };
    let arguments: Vec<_> = record.arguments().iter().map(argument).collect();
    let mut words: Vec<u64> = Vec::new();
    append(&mut words, record, &arguments)?;
    Some(encode::to_bytes(&words))
}

/// Encodes a record with other arguments.
fn append<'b>(
    words: &mut Vec<u64>,
    mut record: Record<'b>,
    arguments: &'b [Argument<'b>],
) -> Option<()> {
    if let Some(own) = record.arguments_mut() {
        *own = arguments.into();
    }
    encode::append(words, &record).ok()
}

fn inline<'a>(item: &Item<'a>, text: Text<'a>) -> Text<'a> {
    match text {
        Text::Indexed(index) => item.provider.string(index).unwrap_or(UNKNOWN_STRING).into(),
        text => text,
    }
}
