//! Decoding of metadata, strings, threads, events and scheduling records.

use super::DecodeError;
use crate::layout::{
    context_switch, event, legacy_context_switch, metadata, provider_event, provider_info,
    provider_section, scheduling, string, thread, thread_wakeup, trace_info, EventType,
    InstantScope, MetadataType, ProviderEvent, SchedulingType, ThreadState, TraceInfoType,
    MAGIC_WORD,
};
use crate::record::argument_cursor::arguments;
use crate::record::cursor::Cursor;
use crate::record::{
    ContextSwitch, Event, EventKind, LegacyContextSwitch, Metadata, Record, ThreadWakeup,
};

pub(super) fn metadata<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Option<Record<'a>>, DecodeError> {
    let Some(metadata_type) = MetadataType::from_bits(metadata::Type::get(header)) else {
        return Ok(None);
    };
    let decoded = match metadata_type {
        MetadataType::ProviderInfo => Metadata::ProviderInfo {
            id: provider_info::Id::get(header) as u32,
            name: cursor.string(provider_info::NameLength::get(header), "provider name")?,
        },
        MetadataType::ProviderSection => {
            Metadata::ProviderSection { id: provider_section::Id::get(header) as u32 }
        }
        MetadataType::ProviderEvent => Metadata::ProviderEvent {
            id: provider_event::Id::get(header) as u32,
            event: ProviderEvent(provider_event::Event::get(header) as u8),
        },
        MetadataType::TraceInfo => return trace_info(header),
    };
    Ok(Some(Record::Metadata(decoded)))
}

/// The magic number record has no appended words ("Magic Number Record"), so all of its header is
/// compared.
fn trace_info<'a>(header: u64) -> Result<Option<Record<'a>>, DecodeError> {
    match TraceInfoType::from_bits(trace_info::Type::get(header)) {
        None => Ok(None),
        Some(TraceInfoType::MagicNumber) if header == MAGIC_WORD => {
            Ok(Some(Record::Metadata(Metadata::MagicNumber)))
        }
        Some(TraceInfoType::MagicNumber) => Err(DecodeError::Magic { header }),
    }
}

pub(super) fn initialization<'a>(cursor: &mut Cursor<'a>) -> Result<Record<'a>, DecodeError> {
    match cursor.word("ticks per second")? {
        0 => Err(DecodeError::TickRateZero),
        ticks_per_second => Ok(Record::Initialization { ticks_per_second }),
    }
}

pub(super) fn string<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Record<'a>, DecodeError> {
    Ok(Record::String {
        index: string::Index::get(header) as u16,
        value: cursor.string(string::Length::get(header), "string")?,
    })
}

pub(super) fn thread<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Record<'a>, DecodeError> {
    Ok(Record::Thread { index: thread::Index::get(header) as u8, koids: cursor.koids()? })
}

#[inline(always)]
pub(super) fn event<'a>(
    event_type: EventType,
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Event<'a>, DecodeError> {
    Ok(Event {
        ticks: cursor.word("timestamp")?,
        thread: cursor.thread(event::ThreadRef::get(header))?,
        category: cursor.text(event::CategoryRef::get(header), "category")?,
        name: cursor.text(event::NameRef::get(header), "name")?,
        arguments: arguments(cursor, event::ArgumentCount::get(header))?.into(),
        kind: event_kind(event_type, cursor)?,
    })
}

#[inline]
fn event_kind(event_type: EventType, cursor: &mut Cursor<'_>) -> Result<EventKind, DecodeError> {
    let mut id = || cursor.word("correlation id");
    Ok(match event_type {
        EventType::Instant => {
            // The specification does not mention the scope word. Fuchsia's library writes it.
            let scope = cursor.word("scope").ok().and_then(InstantScope::from_bits);
            EventKind::Instant { scope }
        }
        EventType::Counter => EventKind::Counter { id: id()? },
        EventType::DurationBegin => EventKind::DurationBegin,
        EventType::DurationEnd => EventKind::DurationEnd,
        EventType::DurationComplete => {
            EventKind::DurationComplete { end: cursor.word("end time")? }
        }
        EventType::AsyncBegin => EventKind::AsyncBegin { id: id()? },
        EventType::AsyncInstant => EventKind::AsyncInstant { id: id()? },
        EventType::AsyncEnd => EventKind::AsyncEnd { id: id()? },
        EventType::FlowBegin => EventKind::FlowBegin { id: id()? },
        EventType::FlowStep => EventKind::FlowStep { id: id()? },
        EventType::FlowEnd => EventKind::FlowEnd { id: id()? },
    })
}

pub(super) fn scheduling<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Option<Record<'a>>, DecodeError> {
    let record = match SchedulingType::from_bits(scheduling::Type::get(header)) {
        None => return Ok(None),
        Some(SchedulingType::LegacyContextSwitch) => legacy_context_switch(header, cursor)?.into(),
        Some(SchedulingType::ContextSwitch) => context_switch(header, cursor)?.into(),
        Some(SchedulingType::ThreadWakeup) => thread_wakeup(header, cursor)?.into(),
    };
    Ok(Some(record))
}

fn legacy_context_switch(
    header: u64,
    cursor: &mut Cursor<'_>,
) -> Result<LegacyContextSwitch, DecodeError> {
    Ok(LegacyContextSwitch {
        ticks: cursor.word("timestamp")?,
        cpu: legacy_context_switch::Cpu::get(header) as u8,
        outgoing_state: ThreadState(legacy_context_switch::OutgoingState::get(header) as u8),
        outgoing: cursor.thread(legacy_context_switch::OutgoingThreadRef::get(header))?,
        incoming: cursor.thread(legacy_context_switch::IncomingThreadRef::get(header))?,
        outgoing_priority: legacy_context_switch::OutgoingPriority::get(header) as u8,
        incoming_priority: legacy_context_switch::IncomingPriority::get(header) as u8,
    })
}

fn context_switch<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<ContextSwitch<'a>, DecodeError> {
    Ok(ContextSwitch {
        ticks: cursor.word("timestamp")?,
        cpu: context_switch::Cpu::get(header) as u16,
        outgoing_state: ThreadState(context_switch::OutgoingState::get(header) as u8),
        outgoing_thread: cursor.word("outgoing thread koid")?,
        incoming_thread: cursor.word("incoming thread koid")?,
        arguments: arguments(cursor, context_switch::ArgumentCount::get(header))?.into(),
    })
}

fn thread_wakeup<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<ThreadWakeup<'a>, DecodeError> {
    Ok(ThreadWakeup {
        ticks: cursor.word("timestamp")?,
        cpu: thread_wakeup::Cpu::get(header) as u16,
        thread: cursor.word("thread koid")?,
        arguments: arguments(cursor, thread_wakeup::ArgumentCount::get(header))?.into(),
    })
}
