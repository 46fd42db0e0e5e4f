//! Whether one record from a provider is well-formed.

use trace_format::layout::{
    argument, blob, event, kernel_object, log, profiler, profiler_backtrace, profiler_module,
    record, string, thread, userspace_object, ArgumentType, EventType, ProfilerType, RecordType,
    StringRef, ThreadRef, MAX_STRING_INDEX,
};

use super::cursor::Cursor;
use super::stats::Rejection;

/// Which strings and threads records may refer to.
pub trait Registered {
    /// Whether there is a string with this index.
    fn has_string(&self, index: u16) -> bool;

    /// Whether there is a thread with this index.
    fn has_thread(&self, index: u8) -> bool;
}

/// What a provider has registered, over the whole session.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    strings: Box<[u64; 512]>,
    threads: [u64; 4],
}

/// Words behind what the format defines for a record: how the format is extended, and how scopes
/// are marked.
pub(super) type Appended = usize;

type Checked<T = ()> = Result<T, Rejection>;

impl Tables {
    pub(super) fn new() -> Self {
        Self { strings: Box::new([0; 512]), threads: [0; 4] }
    }

    fn set_string(&mut self, index: u16) {
        self.strings[usize::from(index & MAX_STRING_INDEX) / 64] |= 1 << (index % 64);
    }

    fn set_thread(&mut self, index: u8) {
        self.threads[usize::from(index) / 64] |= 1 << (index % 64);
    }
}

impl Registered for Tables {
    fn has_string(&self, index: u16) -> bool {
        self.strings[usize::from(index & MAX_STRING_INDEX) / 64] >> (index % 64) & 1 != 0
    }

    fn has_thread(&self, index: u8) -> bool {
        self.threads[usize::from(index) / 64] >> (index % 64) & 1 != 0
    }
}

/// Checks a record that a provider is about to write: whether it would reach the archive, and as it
/// is, but for the process that it says it is of.
///
/// Records that register something are refused, since that is for who keeps the tables.
///
/// # Errors
/// What the reader would refuse it for.
pub fn check_record(registered: &impl Registered, record: &[u64]) -> Result<(), Rejection> {
    let header = record.first().copied().ok_or(Rejection::Framing)?;
    if super::filter::record_words(header) != Some(record.len()) {
        return Err(Rejection::Framing);
    }
    let kind = RecordType::from_bits(record::Type::get(header)).ok_or(Rejection::UnknownType)?;
    if matches!(kind, RecordType::Initialization | RecordType::String | RecordType::Thread) {
        return Err(Rejection::Metadata);
    }
    match check_content(registered, kind, record)? {
        0 => Ok(()),
        _ => Err(Rejection::Content),
    }
}

/// Checks a record whose size is that of the slice, and registers what it registers.
pub(super) fn check(tables: &mut Tables, words: &[u64]) -> Checked<Appended> {
    let header = words.first().copied().ok_or(Rejection::Content)?;
    let kind = RecordType::from_bits(record::Type::get(header)).ok_or(Rejection::UnknownType)?;
    let appended = check_content(tables, kind, words)?;
    match kind {
        RecordType::String => tables.set_string(string::Index::get(header) as u16),
        RecordType::Thread => tables.set_thread(thread::Index::get(header) as u8),
        _ => {}
    }
    Ok(appended)
}

fn check_content(tables: &impl Registered, kind: RecordType, words: &[u64]) -> Checked<Appended> {
    let mut cursor = Cursor::new(words);
    let header = word(&mut cursor)?;
    match kind {
        RecordType::Metadata => return Err(Rejection::Metadata),
        RecordType::Initialization => skip(&mut cursor, 1)?,
        RecordType::String => check_string(header, &mut cursor)?,
        RecordType::Thread => check_thread(header, &mut cursor)?,
        RecordType::Event => check_event(tables, header, &mut cursor)?,
        RecordType::Blob => check_blob(tables, header, &mut cursor)?,
        RecordType::UserspaceObject => check_userspace_object(tables, header, &mut cursor)?,
        RecordType::KernelObject => check_kernel_object(tables, header, &mut cursor)?,
        RecordType::Scheduling => return Err(Rejection::Foreign),
        RecordType::Log => check_log(tables, header, &mut cursor)?,
        RecordType::Profiler => check_profiler(header, &mut cursor)?,
        RecordType::Large => super::large::check_large(tables, header, &mut cursor)?,
    }
    Ok(cursor.remaining())
}

fn check_string(header: u64, cursor: &mut Cursor<'_>) -> Checked {
    if string::Index::get(header) == 0 {
        return Err(Rejection::Content);
    }
    text(cursor, string::Length::get(header))
}

fn check_thread(header: u64, cursor: &mut Cursor<'_>) -> Checked {
    if thread::Index::get(header) == 0 {
        return Err(Rejection::Content);
    }
    skip(cursor, 2)
}

fn check_event(tables: &impl Registered, header: u64, cursor: &mut Cursor<'_>) -> Checked {
    let event_type =
        EventType::from_bits(event::EventType::get(header)).ok_or(Rejection::Content)?;
    skip(cursor, 1)?;
    check_thread_ref(tables, event::ThreadRef::get(header), 2, cursor)?;
    check_string_ref(tables, event::CategoryRef::get(header), cursor)?;
    check_string_ref(tables, event::NameRef::get(header), cursor)?;
    check_arguments(tables, event::ArgumentCount::get(header), cursor)?;
    match event_type {
        EventType::DurationBegin | EventType::DurationEnd => Ok(()),
        // The scope word is younger than the format's document: either is good.
        EventType::Instant => skip(cursor, cursor.remaining().min(1)),
        _ => skip(cursor, 1),
    }
}

fn check_blob(tables: &impl Registered, header: u64, cursor: &mut Cursor<'_>) -> Checked {
    check_string_ref(tables, blob::NameRef::get(header), cursor)?;
    bytes(cursor, blob::PayloadLength::get(header))
}

fn check_userspace_object(
    tables: &impl Registered,
    header: u64,
    cursor: &mut Cursor<'_>,
) -> Checked {
    skip(cursor, 1)?;
    check_thread_ref(tables, userspace_object::ProcessRef::get(header), 1, cursor)?;
    check_string_ref(tables, userspace_object::NameRef::get(header), cursor)?;
    check_arguments(tables, userspace_object::ArgumentCount::get(header), cursor)
}

fn check_kernel_object(tables: &impl Registered, header: u64, cursor: &mut Cursor<'_>) -> Checked {
    skip(cursor, 1)?;
    check_string_ref(tables, kernel_object::NameRef::get(header), cursor)?;
    check_arguments(tables, kernel_object::ArgumentCount::get(header), cursor)
}

fn check_log(tables: &impl Registered, header: u64, cursor: &mut Cursor<'_>) -> Checked {
    skip(cursor, 1)?;
    check_thread_ref(tables, log::ThreadRef::get(header), 2, cursor)?;
    text(cursor, log::MessageLength::get(header))
}

/// The threads of profiler records are always inline.
fn check_profiler(header: u64, cursor: &mut Cursor<'_>) -> Checked {
    let kind = ProfilerType::from_bits(profiler::Type::get(header)).ok_or(Rejection::Content)?;
    match kind {
        ProfilerType::Module => {
            let name = profiler_module::NameLength::get(header);
            let build_id = profiler_module::BuildIdLength::get(header);
            // Timestamp, process, and a thread that some writers leave out.
            let streams = (name.div_ceil(8) + build_id.div_ceil(8)) as usize;
            skip(cursor, if cursor.remaining() >= 3 + streams { 3 } else { 2 })?;
            text(cursor, name)?;
            bytes(cursor, build_id)
        }
        ProfilerType::Mmap => skip(cursor, 5),
        ProfilerType::Backtrace => {
            skip(cursor, 3 + profiler_backtrace::FrameCount::get(header) as usize)
        }
    }
}

/// A thread ref, with `koids` words behind the record's fixed part where it is inline.
pub(super) fn check_thread_ref(
    tables: &impl Registered,
    bits: u64,
    koids: usize,
    cursor: &mut Cursor<'_>,
) -> Checked {
    let thread = ThreadRef::from_bits(bits as u8);
    if thread.is_inline() {
        skip(cursor, koids)
    } else if tables.has_thread(thread.bits()) {
        Ok(())
    } else {
        Err(Rejection::ThreadRef)
    }
}

pub(super) fn check_string_ref(
    tables: &impl Registered,
    bits: u64,
    cursor: &mut Cursor<'_>,
) -> Checked {
    let string = StringRef::from_bits(bits as u16);
    match (string.index(), string.inline_bytes()) {
        (_, Some(length)) => text(cursor, length as u64),
        (Some(index), _) if !tables.has_string(index) => Err(Rejection::StringRef),
        _ => Ok(()),
    }
}

pub(super) fn check_arguments(
    tables: &impl Registered,
    count: u64,
    cursor: &mut Cursor<'_>,
) -> Checked {
    (0..count).try_for_each(|_| check_argument(tables, cursor))
}

fn check_argument(tables: &impl Registered, cursor: &mut Cursor<'_>) -> Checked {
    let header = word(cursor)?;
    let size = (argument::Size::get(header) as usize).checked_sub(1).ok_or(Rejection::Content)?;
    let mut value = Cursor::new(cursor.words(size).ok_or(Rejection::Content)?);
    let kind = ArgumentType::from_bits(argument::Type::get(header)).ok_or(Rejection::Content)?;
    check_string_ref(tables, argument::NameRef::get(header), &mut value)?;
    match kind {
        ArgumentType::Null | ArgumentType::Int32 | ArgumentType::Uint32 | ArgumentType::Bool => {}
        ArgumentType::Int64
        | ArgumentType::Uint64
        | ArgumentType::Double
        | ArgumentType::Pointer
        | ArgumentType::Koid => skip(&mut value, 1)?,
        ArgumentType::String => {
            check_string_ref(tables, argument::ValueRef::get(header), &mut value)?
        }
        ArgumentType::Blob => bytes(&mut value, argument::BlobLength::get(header))?,
    }
    match value.remaining() {
        0 => Ok(()),
        _ => Err(Rejection::Content),
    }
}

pub(super) fn word(cursor: &mut Cursor<'_>) -> Checked<u64> {
    cursor.word().ok_or(Rejection::Content)
}

pub(super) fn skip(cursor: &mut Cursor<'_>, words: usize) -> Checked {
    cursor.words(words).map(drop).ok_or(Rejection::Content)
}

pub(super) fn bytes(cursor: &mut Cursor<'_>, length: u64) -> Checked {
    let length = usize::try_from(length).map_err(|_| Rejection::Content)?;
    cursor.bytes(length).map(drop).ok_or(Rejection::Content)
}

pub(super) fn text(cursor: &mut Cursor<'_>, length: u64) -> Checked {
    let bytes = cursor.bytes(length as usize).ok_or(Rejection::Content)?;
    core::str::from_utf8(bytes).map(drop).map_err(|_| Rejection::Utf8)
}
