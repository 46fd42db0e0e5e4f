//! The layout of the trace format: bit ranges, type numbers and limits.
//!
//! Ranges are those of the specification, `[first .. last]` with both ends included and bit 0 the
//! least significant one: `[4 .. 15]` is [`Field<4, 15>`](Field). The documentation of each module
//! names its section of the specification. Profiler records, large records, and scheduling records
//! other than the legacy context switch follow `fields.h` of Fuchsia's library `lib/fxt`.
//!
//! ```
//! use trace_format::layout::{record, RecordType};
//!
//! let word = record::Type::make(RecordType::Thread.bits()) | record::Size::make(3);
//! assert_eq!(word, 0x33);
//! assert_eq!(record::Size::get(word), 3);
//! ```

mod kinds;
mod refs;

pub use kinds::{
    ArgumentType, BlobType, EventType, InstantScope, LargeBlobFormat, LargeType, MetadataType,
    ObjectType, ProfilerType, ProviderEvent, RecordType, SchedulingType, ThreadState,
    TraceInfoType,
};
pub use refs::{StringRef, ThreadKoids, ThreadRef};

/// The size of a word in bytes. Words are the unit of all sizes in the format.
pub const WORD_BYTES: usize = 8;

/// The magic number record, the first word of an archive ("Magic Number Record").
///
/// A reader with the other byte order than the file reads [`MAGIC_WORD_REVERSED`].
pub const MAGIC_WORD: u64 = 0x0016_5478_4604_0010;

/// [`MAGIC_WORD`] in the other byte order.
pub const MAGIC_WORD_REVERSED: u64 = 0x1000_0446_7854_1600;

/// The value of [`trace_info::Magic`] in the magic number record.
pub const MAGIC_NUMBER: u64 = 0x1654_7846;

/// The largest size of a record that is not a large record, in words (32760 bytes).
pub const MAX_RECORD_WORDS: usize = 4095;

/// The largest record, in bytes, that readers accept by default and that the manager writes: 256
/// MiB. Only large records can exceed it.
pub const MAX_READ_BYTES: u64 = 256 << 20;

/// The largest size of a large record, in words (32 GiB).
pub const MAX_LARGE_RECORD_WORDS: u64 = large::Size::MAX;

/// The longest string that [`encode`](crate::encode) writes, in bytes ("String References"). Longer
/// ones are cut. Records of other writers may have longer ones.
pub const MAX_STRING_BYTES: usize = 32_000;

/// The longest string of a string record, in bytes (32752).
pub const MAX_STRING_RECORD_BYTES: usize = (MAX_RECORD_WORDS - 1) * WORD_BYTES;

/// The largest payload, in bytes, of a blob record that fits beside any name and that this project
/// writes. Records of other writers may have a larger one.
pub const MAX_BLOB_BYTES: usize = 32_000;

/// The largest number of arguments of a record ("Arguments").
pub const MAX_ARGUMENTS: usize = 15;

/// The highest index of the string table. The lowest is 1.
pub const MAX_STRING_INDEX: u16 = 0x7fff;

/// The highest index of the thread table. The lowest is 1.
pub const MAX_THREAD_INDEX: u8 = 255;

/// The longest provider name of a provider info record, in bytes.
pub const MAX_PROVIDER_NAME_BYTES: usize = 255;

/// The tick rate, in ticks per second, of a provider without an initialization record.
pub const DEFAULT_TICKS_PER_SECOND: u64 = 1_000_000_000;

/// The bit that is set in koids that a program assigns, and clear in those of the kernel.
pub const ARTIFICIAL_KOID_BIT: u64 = 1 << 63;

/// The bits `FIRST ..= LAST` of a word, as an unsigned number.
///
/// Use it through a type alias such as [`record::Size`]. A range that does not fit a word does not
/// compile.
#[derive(Debug, Clone, Copy)]
pub struct Field<const FIRST: u32, const LAST: u32>;

impl<const FIRST: u32, const LAST: u32> Field<FIRST, LAST> {
    /// The largest value of the field.
    pub const MAX: u64 = {
        assert!(FIRST <= LAST && LAST < u64::BITS, "not a range of bits");
        u64::MAX >> (u64::BITS - 1 - (LAST - FIRST))
    };

    /// Returns a word with `value` in the field and zeros elsewhere.
    ///
    /// Bits of `value` that do not fit the field are dropped.
    #[inline]
    #[must_use]
    pub const fn make(value: u64) -> u64 {
        (value & Self::MAX) << FIRST
    }

    /// Returns the field's value in `word`.
    #[inline]
    #[must_use]
    pub const fn get(word: u64) -> u64 {
        (word >> FIRST) & Self::MAX
    }

    /// Returns `word` with the field replaced by `value`.
    ///
    /// Bits of `value` that do not fit the field are dropped.
    #[inline]
    #[must_use]
    pub const fn set(word: u64, value: u64) -> u64 {
        (word & !(Self::MAX << FIRST)) | Self::make(value)
    }
}

/// The header word of a record ("Record Header").
pub mod record {
    use super::Field;
    /// The [`RecordType`](super::RecordType).
    pub type Type = Field<0, 3>;
    /// The record's size in words, header included. A large record uses
    /// [`large::Size`](super::large::Size).
    pub type Size = Field<4, 15>;
    /// Fields that depend on the record type.
    pub type Data = Field<16, 63>;
}

/// The header word of a large record, record type 15.
pub mod large {
    use super::Field;
    /// The record's size in words, header included.
    pub type Size = Field<4, 35>;
    /// The [`LargeType`](super::LargeType).
    pub type Type = Field<36, 39>;
    /// The [`LargeBlobFormat`](super::LargeBlobFormat) of a large blob.
    pub type BlobFormat = Field<40, 43>;
}

/// The second word of a large blob, large type 0.
pub mod large_blob {
    use super::Field;
    /// The category, a string ref.
    pub type CategoryRef = Field<0, 15>;
    /// The name, a string ref.
    pub type NameRef = Field<16, 31>;
    /// The number of arguments, 0 in an attachment.
    pub type ArgumentCount = Field<32, 35>;
    /// The thread ref, 0 in an attachment.
    pub type ThreadRef = Field<36, 43>;
}

/// The header word of a metadata record ("Metadata Record").
pub mod metadata {
    use super::Field;
    /// The [`MetadataType`](super::MetadataType).
    pub type Type = Field<16, 19>;
}

/// The header word of a provider info record ("Provider Info Metadata").
pub mod provider_info {
    use super::Field;
    /// The provider's id in the trace.
    pub type Id = Field<20, 51>;
    /// The length of the provider's name in bytes.
    pub type NameLength = Field<52, 59>;
}

/// The header word of a provider section record ("Provider Section Metadata").
pub mod provider_section {
    use super::Field;
    /// The provider's id in the trace.
    pub type Id = Field<20, 51>;
}

/// The header word of a provider event record ("Provider Event Metadata").
pub mod provider_event {
    use super::Field;
    /// The provider's id in the trace.
    pub type Id = Field<20, 51>;
    /// The [`ProviderEvent`](super::ProviderEvent).
    pub type Event = Field<52, 55>;
}

/// The header word of a trace info record ("Trace Info Metadata").
pub mod trace_info {
    use super::Field;
    /// The [`TraceInfoType`](super::TraceInfoType).
    pub type Type = Field<20, 23>;
    /// [`MAGIC_NUMBER`](super::MAGIC_NUMBER), in the magic number record.
    pub type Magic = Field<24, 55>;
}

/// The header word of a string record ("String Record").
pub mod string {
    use super::Field;
    /// The index in the string table, `1 ..= 0x7fff`. Readers ignore a record with 0.
    pub type Index = Field<16, 30>;
    /// The string's length in bytes.
    pub type Length = Field<32, 46>;
}

/// The header word of a thread record ("Thread Record").
pub mod thread {
    use super::Field;
    /// The index in the thread table, `1 ..= 255`. Readers ignore a record with 0.
    pub type Index = Field<16, 23>;
}

/// The header word of an event record ("Event Record").
pub mod event {
    use super::Field;
    /// The [`EventType`](super::EventType).
    pub type EventType = Field<16, 19>;
    /// The number of arguments.
    pub type ArgumentCount = Field<20, 23>;
    /// The thread ref.
    pub type ThreadRef = Field<24, 31>;
    /// The category, a string ref.
    pub type CategoryRef = Field<32, 47>;
    /// The name, a string ref.
    pub type NameRef = Field<48, 63>;
}

/// The header word of a blob record ("Blob Record").
pub mod blob {
    use super::Field;
    /// The name, a string ref.
    pub type NameRef = Field<16, 31>;
    /// The payload's length in bytes, without padding.
    pub type PayloadLength = Field<32, 46>;
    /// The [`BlobType`](super::BlobType).
    pub type Type = Field<48, 55>;
}

/// The header word of a userspace object record ("Userspace Object Record").
pub mod userspace_object {
    use super::Field;
    /// The process: a thread ref, of which the process koid is used.
    pub type ProcessRef = Field<16, 23>;
    /// The name, a string ref.
    pub type NameRef = Field<24, 39>;
    /// The number of arguments.
    pub type ArgumentCount = Field<40, 43>;
}

/// The header word of a kernel object record ("Kernel Object Record").
pub mod kernel_object {
    use super::Field;
    /// The [`ObjectType`](super::ObjectType).
    pub type ObjectType = Field<16, 23>;
    /// The name, a string ref.
    pub type NameRef = Field<24, 39>;
    /// The number of arguments.
    pub type ArgumentCount = Field<40, 43>;
}

/// The header word of a scheduling record, record type 8.
pub mod scheduling {
    use super::Field;
    /// The [`SchedulingType`](super::SchedulingType).
    pub type Type = Field<60, 63>;
}

/// The header word of a legacy context switch, scheduling type 0 ("Context Switch Record").
pub mod legacy_context_switch {
    use super::Field;
    /// The CPU's number.
    pub type Cpu = Field<16, 23>;
    /// The outgoing thread's [`ThreadState`](super::ThreadState).
    pub type OutgoingState = Field<24, 27>;
    /// The outgoing thread, a thread ref.
    pub type OutgoingThreadRef = Field<28, 35>;
    /// The incoming thread, a thread ref.
    pub type IncomingThreadRef = Field<36, 43>;
    /// The outgoing thread's priority.
    pub type OutgoingPriority = Field<44, 51>;
    /// The incoming thread's priority.
    pub type IncomingPriority = Field<52, 59>;
}

/// The header word of a context switch, scheduling type 1.
pub mod context_switch {
    use super::Field;
    /// The number of arguments.
    pub type ArgumentCount = Field<16, 19>;
    /// The CPU's number.
    pub type Cpu = Field<20, 35>;
    /// The outgoing thread's [`ThreadState`](super::ThreadState).
    pub type OutgoingState = Field<36, 39>;
}

/// The header word of a thread wakeup, scheduling type 2.
pub mod thread_wakeup {
    use super::Field;
    /// The number of arguments.
    pub type ArgumentCount = Field<16, 19>;
    /// The CPU's number.
    pub type Cpu = Field<20, 35>;
}

/// The header word of a log record ("Log Record").
pub mod log {
    use super::Field;
    /// The message's length in bytes.
    pub type MessageLength = Field<16, 30>;
    /// The thread ref.
    pub type ThreadRef = Field<32, 39>;
}

/// The header word of a profiler record, record type 10.
pub mod profiler {
    use super::Field;
    /// The [`ProfilerType`](super::ProfilerType).
    pub type Type = Field<16, 19>;
    /// The thread ref.
    pub type ThreadRef = Field<20, 27>;
}

/// The header word of a module, profiler type 0.
pub mod profiler_module {
    use super::Field;
    /// The module's id.
    pub type ModuleId = Field<28, 43>;
    /// The length of the module's name in bytes.
    pub type NameLength = Field<44, 51>;
    /// The length of the build id in bytes.
    pub type BuildIdLength = Field<52, 59>;
}

/// The header word of a mapping, profiler type 1.
pub mod profiler_mmap {
    use super::Field;
    /// The mapped module's id.
    pub type ModuleId = Field<28, 43>;
    /// The protection flags: readable (1), writable (2), executable (4).
    pub type Flags = Field<44, 46>;
}

/// The header word of a backtrace, profiler type 2.
pub mod profiler_backtrace {
    use super::Field;
    /// The number of frames, one word each.
    pub type FrameCount = Field<28, 35>;
}

/// The header word of an argument ("Argument Header").
pub mod argument {
    use super::Field;
    /// The [`ArgumentType`](super::ArgumentType).
    pub type Type = Field<0, 3>;
    /// The argument's size in words, header included.
    pub type Size = Field<4, 15>;
    /// The name, a string ref.
    pub type NameRef = Field<16, 31>;
    /// The value of a 32-bit integer argument.
    pub type Value32 = Field<32, 63>;
    /// The value of a string argument, a string ref.
    pub type ValueRef = Field<32, 47>;
    /// The value of a boolean argument: 1 is true.
    pub type Bool = Field<32, 32>;
    /// The length of a blob argument in bytes, without padding.
    pub type BlobLength = Field<32, 63>;
}

/// Returns the header word of an event record.
///
/// `words` is the record's size, header included, at most [`MAX_RECORD_WORDS`]. `arguments` is the
/// number of arguments, at most [`MAX_ARGUMENTS`]. Higher bits of both are dropped.
#[inline]
#[must_use]
pub const fn event_header(
    event_type: EventType,
    words: usize,
    arguments: usize,
    thread: ThreadRef,
    category: StringRef,
    name: StringRef,
) -> u64 {
    record::Type::make(RecordType::Event.bits())
        | record::Size::make(words as u64)
        | event::EventType::make(event_type.bits())
        | event::ArgumentCount::make(arguments as u64)
        | event::ThreadRef::make(thread.bits() as u64)
        | event::CategoryRef::make(category.bits() as u64)
        | event::NameRef::make(name.bits() as u64)
}

/// Returns the header word of an argument whose value is in the next words.
///
/// `words` is the argument's size, header included. Higher bits are dropped.
#[inline]
#[must_use]
pub const fn argument_header(argument_type: ArgumentType, words: usize, name: StringRef) -> u64 {
    argument::Type::make(argument_type.bits())
        | argument::Size::make(words as u64)
        | argument::NameRef::make(name.bits() as u64)
}

/// Returns the number of words that `bytes` bytes and their padding take.
#[inline]
#[must_use]
pub const fn words_for_bytes(bytes: usize) -> usize {
    bytes.div_ceil(WORD_BYTES)
}

/// Returns the longest prefix of `text` that has at most `max_bytes` bytes and ends between two
/// characters.
#[must_use]
pub fn cut_str(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
