//! Decoding of blobs, objects, logs, profiler records and large records.

use super::DecodeError;
use crate::layout::{
    blob, kernel_object, large, large_blob, log, profiler, profiler_backtrace, profiler_mmap,
    profiler_module, userspace_object, words_for_bytes, BlobType, LargeBlobFormat, LargeType,
    ObjectType, ProfilerType, ThreadRef, WORD_BYTES,
};
use crate::record::argument_cursor::arguments;
use crate::record::cursor::Cursor;
use crate::record::{
    Backtrace, Blob, Frames, KernelObject, LargeBlob, LargeBlobEvent, Log, Mmap, Module, Process,
    Record, UserspaceObject,
};

pub(super) fn blob<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Record<'a>, DecodeError> {
    Ok(Record::Blob(Blob {
        name: cursor.text(blob::NameRef::get(header), "name")?,
        blob_type: BlobType(blob::Type::get(header) as u8),
        payload: cursor.stream(blob::PayloadLength::get(header), "payload")?,
    }))
}

pub(super) fn userspace_object<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Record<'a>, DecodeError> {
    Ok(Record::UserspaceObject(UserspaceObject {
        pointer: cursor.word("pointer")?,
        process: cursor.process(userspace_object::ProcessRef::get(header))?,
        name: cursor.text(userspace_object::NameRef::get(header), "name")?,
        arguments: arguments(cursor, userspace_object::ArgumentCount::get(header))?.into(),
    }))
}

pub(super) fn kernel_object<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Record<'a>, DecodeError> {
    Ok(Record::KernelObject(KernelObject {
        object_type: ObjectType(kernel_object::ObjectType::get(header) as u8),
        koid: cursor.word("koid")?,
        name: cursor.text(kernel_object::NameRef::get(header), "name")?,
        arguments: arguments(cursor, kernel_object::ArgumentCount::get(header))?.into(),
    }))
}

pub(super) fn log<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Record<'a>, DecodeError> {
    Ok(Record::Log(Log {
        ticks: cursor.word("timestamp")?,
        thread: cursor.thread(log::ThreadRef::get(header))?,
        message: cursor.string(log::MessageLength::get(header), "message")?,
    }))
}

pub(super) fn profiler<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Option<Record<'a>>, DecodeError> {
    let record = match ProfilerType::from_bits(profiler::Type::get(header)) {
        None => return Ok(None),
        Some(ProfilerType::Module) => module(header, cursor)?.into(),
        Some(ProfilerType::Mmap) => mmap(header, cursor)?.into(),
        Some(ProfilerType::Backtrace) => backtrace(header, cursor)?.into(),
    };
    Ok(Some(record))
}

fn module<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Module<'a>, DecodeError> {
    let name_bytes = profiler_module::NameLength::get(header);
    let build_id_bytes = profiler_module::BuildIdLength::get(header);
    let words = words_for_bytes(name_bytes as usize) + words_for_bytes(build_id_bytes as usize);
    Ok(Module {
        ticks: cursor.word("timestamp")?,
        process: profiler_process(header, cursor, words)?,
        module_id: profiler_module::ModuleId::get(header) as u16,
        name: cursor.string(name_bytes, "module name")?,
        build_id: cursor.stream(build_id_bytes, "build id")?,
    })
}

fn mmap(header: u64, cursor: &mut Cursor<'_>) -> Result<Mmap, DecodeError> {
    Ok(Mmap {
        ticks: cursor.word("timestamp")?,
        process: profiler_process(header, cursor, 3)?,
        module_id: profiler_mmap::ModuleId::get(header) as u16,
        flags: profiler_mmap::Flags::get(header) as u8,
        start: cursor.word("start address")?,
        length: cursor.word("length")?,
        module_address: cursor.word("module address")?,
    })
}

/// Takes the process of a module or mapping. `fields` is the number of words after it.
///
/// Some writers put a thread koid, always 0, after an inline process koid. If there are more words
/// than `fields`, the first one is that koid.
fn profiler_process(
    header: u64,
    cursor: &mut Cursor<'_>,
    fields: usize,
) -> Result<Process, DecodeError> {
    let thread_ref = profiler::ThreadRef::get(header);
    let process = cursor.process(thread_ref)?;
    let is_inline = ThreadRef::from_bits(thread_ref as u8).is_inline();
    if is_inline && cursor.words_left() > fields {
        cursor.word("thread koid")?;
    }
    Ok(process)
}

fn backtrace<'a>(header: u64, cursor: &mut Cursor<'a>) -> Result<Backtrace<'a>, DecodeError> {
    let frames = profiler_backtrace::FrameCount::get(header) * WORD_BYTES as u64;
    Ok(Backtrace {
        ticks: cursor.word("timestamp")?,
        thread: cursor.thread(profiler::ThreadRef::get(header))?,
        frames: Frames::encoded(cursor.stream(frames, "frames")?),
    })
}

pub(super) fn large<'a>(
    header: u64,
    cursor: &mut Cursor<'a>,
) -> Result<Option<Record<'a>>, DecodeError> {
    let format = LargeBlobFormat::from_bits(large::BlobFormat::get(header));
    match (LargeType::from_bits(large::Type::get(header)), format) {
        (Some(LargeType::Blob), Some(format)) => large_blob(format, cursor).map(Some),
        _ => Ok(None),
    }
}

fn large_blob<'a>(
    format: LargeBlobFormat,
    cursor: &mut Cursor<'a>,
) -> Result<Record<'a>, DecodeError> {
    let word = cursor.word("large blob header")?;
    let category = cursor.text(large_blob::CategoryRef::get(word), "category")?;
    let name = cursor.text(large_blob::NameRef::get(word), "name")?;
    let event = match format {
        LargeBlobFormat::Event => Some(large_blob_event(word, cursor)?),
        LargeBlobFormat::Attachment => None,
    };
    let bytes = cursor.word("payload length")?;
    let payload = cursor.stream(bytes, "payload")?;
    Ok(Record::LargeBlob(LargeBlob { category, name, event, payload }))
}

fn large_blob_event<'a>(
    word: u64,
    cursor: &mut Cursor<'a>,
) -> Result<LargeBlobEvent<'a>, DecodeError> {
    Ok(LargeBlobEvent {
        ticks: cursor.word("timestamp")?,
        thread: cursor.thread(large_blob::ThreadRef::get(word))?,
        arguments: arguments(cursor, large_blob::ArgumentCount::get(word))?.into(),
    })
}
