//! The words after the header, for each type of record.

use super::out::Out;
use crate::layout::{
    argument, large_blob, words_for_bytes, ArgumentType, StringRef, MAX_PROVIDER_NAME_BYTES,
    MAX_STRING_BYTES, MAX_STRING_RECORD_BYTES,
};
use crate::record::text::cut_bytes;
use crate::record::{
    Argument, Arguments, Backtrace, ContextSwitch, Event, KernelObject, LargeBlob,
    LegacyContextSwitch, Log, Metadata, Mmap, Module, Record, Text, ThreadWakeup, UserspaceObject,
    Value,
};

/// Writes the words of `record` after the header.
#[inline]
pub(super) fn write<O: Out>(record: &Record<'_>, out: &mut O) {
    match record {
        Record::Metadata(metadata) => self::metadata(metadata, out),
        Record::Initialization { ticks_per_second } => out.word(*ticks_per_second),
        Record::String { value, .. } => out.stream(cut_bytes(value, MAX_STRING_RECORD_BYTES)),
        Record::Thread { koids, .. } => out.koids(Some(*koids)),
        Record::Event(event) => self::event(event, out),
        Record::Blob(blob) => {
            text(blob.name, out);
            out.stream(blob.payload);
        }
        Record::UserspaceObject(object) => userspace_object(object, out),
        Record::KernelObject(object) => kernel_object(object, out),
        Record::LegacyContextSwitch(switch) => legacy_context_switch(switch, out),
        Record::ContextSwitch(switch) => context_switch(switch, out),
        Record::ThreadWakeup(wakeup) => thread_wakeup(wakeup, out),
        Record::Log(log) => self::log(log, out),
        Record::Module(module) => self::module(module, out),
        Record::Mmap(mmap) => self::mmap(mmap, out),
        Record::Backtrace(backtrace) => self::backtrace(backtrace, out),
        Record::LargeBlob(blob) => self::large_blob(blob, out),
        Record::Unknown(unknown) => out.stream(unknown.payload),
    }
}

fn metadata<O: Out>(metadata: &Metadata<'_>, out: &mut O) {
    if let Metadata::ProviderInfo { name, .. } = metadata {
        out.stream(provider_name(name));
    }
}

/// Returns a provider's or module's name, cut so that its length fits 8 bits.
pub(super) fn provider_name(name: &[u8]) -> &[u8] {
    cut_bytes(name, MAX_PROVIDER_NAME_BYTES)
}

#[inline]
fn event<O: Out>(event: &Event<'_>, out: &mut O) {
    out.word(event.ticks);
    out.koids(event.thread.stored().1);
    text(event.category, out);
    text(event.name, out);
    arguments(&event.arguments, out);
    if let Some(word) = event.kind.stored().1 {
        out.word(word);
    }
}

fn userspace_object<O: Out>(object: &UserspaceObject<'_>, out: &mut O) {
    out.word(object.pointer);
    out.koid(object.process.stored().1);
    text(object.name, out);
    arguments(&object.arguments, out);
}

fn kernel_object<O: Out>(object: &KernelObject<'_>, out: &mut O) {
    out.word(object.koid);
    text(object.name, out);
    arguments(&object.arguments, out);
}

fn legacy_context_switch<O: Out>(switch: &LegacyContextSwitch, out: &mut O) {
    out.word(switch.ticks);
    out.koids(switch.outgoing.stored().1);
    out.koids(switch.incoming.stored().1);
}

fn context_switch<O: Out>(switch: &ContextSwitch<'_>, out: &mut O) {
    out.word(switch.ticks);
    out.word(switch.outgoing_thread);
    out.word(switch.incoming_thread);
    arguments(&switch.arguments, out);
}

fn thread_wakeup<O: Out>(wakeup: &ThreadWakeup<'_>, out: &mut O) {
    out.word(wakeup.ticks);
    out.word(wakeup.thread);
    arguments(&wakeup.arguments, out);
}

fn log<O: Out>(log: &Log<'_>, out: &mut O) {
    out.word(log.ticks);
    out.koids(log.thread.stored().1);
    out.stream(cut_bytes(log.message, MAX_STRING_BYTES));
}

// Fuchsia's documentation shows a thread koid, "constantly 0", after a module's process koid.
// Fuchsia's reader takes it for the start of the name, so it is not written.
fn module<O: Out>(module: &Module<'_>, out: &mut O) {
    out.word(module.ticks);
    out.koid(module.process.stored().1);
    out.stream(provider_name(module.name));
    out.stream(module.build_id);
}

fn mmap<O: Out>(mmap: &Mmap, out: &mut O) {
    out.word(mmap.ticks);
    out.koid(mmap.process.stored().1);
    out.word(mmap.start);
    out.word(mmap.length);
    out.word(mmap.module_address);
}

fn backtrace<O: Out>(backtrace: &Backtrace<'_>, out: &mut O) {
    out.word(backtrace.ticks);
    out.koids(backtrace.thread.stored().1);
    for frame in backtrace.frames.iter() {
        out.word(frame);
    }
}

fn large_blob<O: Out>(blob: &LargeBlob<'_>, out: &mut O) {
    out.word(large_blob_word(blob));
    text(blob.category, out);
    text(blob.name, out);
    if let Some(event) = &blob.event {
        out.word(event.ticks);
        out.koids(event.thread.stored().1);
        arguments(&event.arguments, out);
    }
    out.word(blob.payload.len() as u64);
    out.stream(blob.payload);
}

fn large_blob_word(blob: &LargeBlob<'_>) -> u64 {
    let refs = large_blob::CategoryRef::make(string_ref(blob.category))
        | large_blob::NameRef::make(string_ref(blob.name));
    let Some(event) = &blob.event else {
        return refs;
    };
    refs | large_blob::ArgumentCount::make(event.arguments.iter().count() as u64)
        | large_blob::ThreadRef::make(u64::from(event.thread.stored().0.bits()))
}

/// Writes the bytes of an inline string.
#[inline]
fn text<O: Out>(text: Text<'_>, out: &mut O) {
    out.stream(text.stored().1);
}

/// Returns the field value of a string ref.
pub(super) fn string_ref(text: Text<'_>) -> u64 {
    u64::from(text.stored().0.bits())
}

#[inline]
fn arguments<O: Out>(arguments: &Arguments<'_>, out: &mut O) {
    for argument in arguments {
        self::argument(&argument, out);
    }
}

/// Writes one argument with its header.
#[inline]
pub(super) fn argument<O: Out>(argument: &Argument<'_>, out: &mut O) {
    let (name_ref, name) = argument.name.stored();
    let (header, payload) = value(argument.value);
    let words = 1 + words_for_bytes(name.len()) + payload.words();
    out.word(
        header
            | argument::Size::make(words as u64)
            | argument::NameRef::make(u64::from(name_ref.bits())),
    );
    out.stream(name);
    match payload {
        Payload::None => {}
        Payload::Word(word) => out.word(word),
        Payload::Stream(bytes) => out.stream(bytes),
    }
}

/// The words after an argument's name.
enum Payload<'a> {
    None,
    Word(u64),
    Stream(&'a [u8]),
}

impl Payload<'_> {
    #[inline]
    fn words(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Word(_) => 1,
            Self::Stream(bytes) => words_for_bytes(bytes.len()),
        }
    }
}

/// Returns the type and value fields of the header, and the payload.
#[inline]
fn value(value: Value<'_>) -> (u64, Payload<'_>) {
    let header = |argument_type: ArgumentType| argument::Type::make(argument_type.bits());
    let header32 = |argument_type, value: u32| {
        header(argument_type) | argument::Value32::make(u64::from(value))
    };
    match value {
        Value::Null => (header(ArgumentType::Null), Payload::None),
        Value::Int32(value) => (header32(ArgumentType::Int32, value as u32), Payload::None),
        Value::Uint32(value) => (header32(ArgumentType::Uint32, value), Payload::None),
        Value::Int64(value) => (header(ArgumentType::Int64), Payload::Word(value as u64)),
        Value::Uint64(value) => (header(ArgumentType::Uint64), Payload::Word(value)),
        Value::Double(value) => (header(ArgumentType::Double), Payload::Word(value.to_bits())),
        Value::String(text) => string_value(text.stored()),
        Value::Pointer(value) => (header(ArgumentType::Pointer), Payload::Word(value)),
        Value::Koid(value) => (header(ArgumentType::Koid), Payload::Word(value)),
        Value::Bool(value) => {
            let bit = argument::Bool::make(u64::from(value));
            (header(ArgumentType::Bool) | bit, Payload::None)
        }
        Value::Blob(bytes) => {
            let length = argument::BlobLength::make(bytes.len() as u64);
            (header(ArgumentType::Blob) | length, Payload::Stream(bytes))
        }
    }
}

#[inline]
fn string_value((value_ref, bytes): (StringRef, &[u8])) -> (u64, Payload<'_>) {
    let header = argument::Type::make(ArgumentType::String.bits())
        | argument::ValueRef::make(u64::from(value_ref.bits()));
    (header, Payload::Stream(bytes))
}
