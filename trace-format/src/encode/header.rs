//! The header word, for each type of record.

use super::body::{provider_name, string_ref};
use crate::layout::{
    blob, context_switch, event_header, kernel_object, large, legacy_context_switch, log, metadata,
    profiler, profiler_backtrace, profiler_mmap, profiler_module, provider_event, provider_info,
    provider_section, record, scheduling, string, thread, thread_wakeup, userspace_object,
    LargeBlobFormat, LargeType, MetadataType, ProfilerType, RecordType, SchedulingType, ThreadRef,
    MAGIC_WORD, MAX_LARGE_RECORD_WORDS, MAX_RECORD_WORDS, MAX_STRING_BYTES,
    MAX_STRING_RECORD_BYTES,
};
use crate::record::text::cut_bytes;
use crate::record::{
    Arguments, Backtrace, Blob, ContextSwitch, Event, KernelObject, LargeBlob, LegacyContextSwitch,
    Log, Metadata, Mmap, Module, Record, ThreadWakeup, UnknownRecord, UserspaceObject,
};

/// Returns the header word of `record`. `words` is the record's size, header included.
pub(super) fn of(record: &Record<'_>, words: u64) -> u64 {
    let start = |record_type: RecordType| {
        record::Type::make(record_type.bits()) | record::Size::make(words)
    };
    match record {
        Record::Metadata(Metadata::MagicNumber) => MAGIC_WORD,
        Record::Metadata(metadata) => start(RecordType::Metadata) | self::metadata(metadata),
        Record::Initialization { .. } => start(RecordType::Initialization),
        Record::String { index, value } => start(RecordType::String) | string(*index, value),
        Record::Thread { index, .. } => {
            start(RecordType::Thread) | thread::Index::make(u64::from(*index))
        }
        Record::Event(event) => self::event(event, words),
        Record::Blob(blob) => start(RecordType::Blob) | self::blob(blob),
        Record::UserspaceObject(object) => {
            start(RecordType::UserspaceObject) | userspace_object(object)
        }
        Record::KernelObject(object) => start(RecordType::KernelObject) | kernel_object(object),
        Record::LegacyContextSwitch(switch) => {
            start(RecordType::Scheduling) | legacy_context_switch(switch)
        }
        Record::ContextSwitch(switch) => start(RecordType::Scheduling) | context_switch(switch),
        Record::ThreadWakeup(wakeup) => start(RecordType::Scheduling) | thread_wakeup(wakeup),
        Record::Log(log) => start(RecordType::Log) | self::log(log),
        Record::Module(module) => start(RecordType::Profiler) | self::module(module),
        Record::Mmap(mmap) => start(RecordType::Profiler) | self::mmap(mmap),
        Record::Backtrace(backtrace) => start(RecordType::Profiler) | self::backtrace(backtrace),
        Record::LargeBlob(blob) => large_blob(blob, words),
        Record::Unknown(unknown) => self::unknown(unknown, words),
    }
}

/// Returns the largest size, in words, of a record with this header.
pub(super) fn max_words(header: u64) -> u64 {
    if is_large(header) {
        return MAX_LARGE_RECORD_WORDS;
    }
    MAX_RECORD_WORDS as u64
}

fn is_large(header: u64) -> bool {
    record::Type::get(header) == RecordType::Large.bits()
}

fn unknown(unknown: &UnknownRecord<'_>, words: u64) -> u64 {
    if is_large(unknown.header) {
        return large::Size::set(unknown.header, words);
    }
    record::Size::set(unknown.header, words)
}

fn metadata(metadata: &Metadata<'_>) -> u64 {
    match metadata {
        Metadata::ProviderInfo { id, name } => {
            metadata::Type::make(MetadataType::ProviderInfo.bits())
                | provider_info::Id::make(u64::from(*id))
                | provider_info::NameLength::make(provider_name(name).len() as u64)
        }
        Metadata::ProviderSection { id } => {
            metadata::Type::make(MetadataType::ProviderSection.bits())
                | provider_section::Id::make(u64::from(*id))
        }
        Metadata::ProviderEvent { id, event } => {
            metadata::Type::make(MetadataType::ProviderEvent.bits())
                | provider_event::Id::make(u64::from(*id))
                | provider_event::Event::make(event.bits())
        }
        Metadata::MagicNumber => record::Data::make(record::Data::get(MAGIC_WORD)),
    }
}

fn string(index: u16, value: &[u8]) -> u64 {
    let length = cut_bytes(value, MAX_STRING_RECORD_BYTES).len();
    string::Index::make(u64::from(index)) | string::Length::make(length as u64)
}

fn event(event: &Event<'_>, words: u64) -> u64 {
    event_header(
        event.kind.stored().0,
        words as usize,
        event.arguments.iter().count(),
        event.thread.stored().0,
        event.category.stored().0,
        event.name.stored().0,
    )
}

fn blob(blob: &Blob<'_>) -> u64 {
    blob::NameRef::make(string_ref(blob.name))
        | blob::PayloadLength::make(blob.payload.len() as u64)
        | blob::Type::make(blob.blob_type.bits())
}

fn userspace_object(object: &UserspaceObject<'_>) -> u64 {
    userspace_object::ProcessRef::make(thread_ref(object.process.stored().0))
        | userspace_object::NameRef::make(string_ref(object.name))
        | userspace_object::ArgumentCount::make(argument_count(&object.arguments))
}

fn kernel_object(object: &KernelObject<'_>) -> u64 {
    kernel_object::ObjectType::make(object.object_type.bits())
        | kernel_object::NameRef::make(string_ref(object.name))
        | kernel_object::ArgumentCount::make(argument_count(&object.arguments))
}

fn legacy_context_switch(switch: &LegacyContextSwitch) -> u64 {
    scheduling::Type::make(SchedulingType::LegacyContextSwitch.bits())
        | legacy_context_switch::Cpu::make(u64::from(switch.cpu))
        | legacy_context_switch::OutgoingState::make(switch.outgoing_state.bits())
        | legacy_context_switch::OutgoingThreadRef::make(thread_ref(switch.outgoing.stored().0))
        | legacy_context_switch::IncomingThreadRef::make(thread_ref(switch.incoming.stored().0))
        | legacy_context_switch::OutgoingPriority::make(u64::from(switch.outgoing_priority))
        | legacy_context_switch::IncomingPriority::make(u64::from(switch.incoming_priority))
}

fn context_switch(switch: &ContextSwitch<'_>) -> u64 {
    scheduling::Type::make(SchedulingType::ContextSwitch.bits())
        | context_switch::ArgumentCount::make(argument_count(&switch.arguments))
        | context_switch::Cpu::make(u64::from(switch.cpu))
        | context_switch::OutgoingState::make(switch.outgoing_state.bits())
}

fn thread_wakeup(wakeup: &ThreadWakeup<'_>) -> u64 {
    scheduling::Type::make(SchedulingType::ThreadWakeup.bits())
        | thread_wakeup::ArgumentCount::make(argument_count(&wakeup.arguments))
        | thread_wakeup::Cpu::make(u64::from(wakeup.cpu))
}

fn log(log: &Log<'_>) -> u64 {
    let length = cut_bytes(log.message, MAX_STRING_BYTES).len();
    log::MessageLength::make(length as u64)
        | log::ThreadRef::make(thread_ref(log.thread.stored().0))
}

fn module(module: &Module<'_>) -> u64 {
    profiler::Type::make(ProfilerType::Module.bits())
        | profiler::ThreadRef::make(thread_ref(module.process.stored().0))
        | profiler_module::ModuleId::make(u64::from(module.module_id))
        | profiler_module::NameLength::make(provider_name(module.name).len() as u64)
        | profiler_module::BuildIdLength::make(module.build_id.len() as u64)
}

fn mmap(mmap: &Mmap) -> u64 {
    profiler::Type::make(ProfilerType::Mmap.bits())
        | profiler::ThreadRef::make(thread_ref(mmap.process.stored().0))
        | profiler_mmap::ModuleId::make(u64::from(mmap.module_id))
        | profiler_mmap::Flags::make(u64::from(mmap.flags))
}

fn backtrace(backtrace: &Backtrace<'_>) -> u64 {
    profiler::Type::make(ProfilerType::Backtrace.bits())
        | profiler::ThreadRef::make(thread_ref(backtrace.thread.stored().0))
        | profiler_backtrace::FrameCount::make(backtrace.frames.len() as u64)
}

fn large_blob(blob: &LargeBlob<'_>, words: u64) -> u64 {
    let format = match blob.event {
        Some(_) => LargeBlobFormat::Event,
        None => LargeBlobFormat::Attachment,
    };
    record::Type::make(RecordType::Large.bits())
        | large::Size::make(words)
        | large::Type::make(LargeType::Blob.bits())
        | large::BlobFormat::make(format.bits())
}

fn thread_ref(thread_ref: ThreadRef) -> u64 {
    u64::from(thread_ref.bits())
}

fn argument_count(arguments: &Arguments<'_>) -> u64 {
    arguments.iter().count() as u64
}
