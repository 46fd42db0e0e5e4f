//! Records as values, the same for encoding and decoding.
//!
//! A record borrows its strings and bytes. Strings and threads are as they
//! stand in the record, see [`Text`] and [`Thread`]: to find out what an index
//! means takes the tables of a `Reader`.

mod argument;
mod arguments;
mod event;
mod object;
mod parts;
mod profiler;
mod reference;
mod scheduling;
pub(crate) mod text;

pub use argument::{Argument, UnknownArgument, Value};
pub use arguments::{Arguments, ArgumentsIter};
pub use event::{Event, EventKind};
pub use object::{Blob, KernelObject, LargeBlob, LargeBlobEvent, Log, UserspaceObject};
pub use profiler::{Backtrace, Frames, FramesIter, Mmap, Module};
pub use reference::{Reference, ReferenceMut};
pub use scheduling::{ContextSwitch, LegacyContextSwitch, ThreadWakeup};
pub use text::{Process, Text, Thread};

use crate::layout::{ProviderEvent, ThreadKoids};

/// One record of any type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Record<'a> {
    /// Type 0, about the trace itself; only the trace manager writes these.
    Metadata(Metadata<'a>),
    /// Type 1.
    Initialization {
        /// The unit of the provider's timestamps, never 0.
        ticks_per_second: u64,
    },
    /// Type 2, gives a string an index in the provider's string table.
    String {
        /// The index in `1 ..= 0x7fff`; a record with 0 is to be ignored.
        index: u16,
        /// The string, UTF-8 unless the provider got it wrong.
        value: &'a [u8],
    },
    /// Type 3, gives a thread an index in the provider's thread table.
    Thread {
        /// The index in `1 ..= 255`; a record with 0 is to be ignored.
        index: u8,
        /// The thread.
        koids: ThreadKoids,
    },
    /// Type 4, something that happened.
    Event(Event<'a>),
    /// Type 5, bulk data with a name.
    Blob(Blob<'a>),
    /// Type 6, a label for a pointer.
    UserspaceObject(UserspaceObject<'a>),
    /// Type 7, a label for a koid.
    KernelObject(KernelObject<'a>),
    /// Type 8, scheduling type 0.
    LegacyContextSwitch(LegacyContextSwitch),
    /// Type 8, scheduling type 1.
    ContextSwitch(ContextSwitch<'a>),
    /// Type 8, scheduling type 2.
    ThreadWakeup(ThreadWakeup<'a>),
    /// Type 9, a log message.
    Log(Log<'a>),
    /// Type 10, profiler type 0.
    Module(Module<'a>),
    /// Type 10, profiler type 1.
    Mmap(Mmap),
    /// Type 10, profiler type 2.
    Backtrace(Backtrace<'a>),
    /// Type 15, large type 0, bulk data beyond the size of other records.
    LargeBlob(LargeBlob<'a>),
    /// A record whose type, or a type within it, is not known here.
    Unknown(UnknownRecord<'a>),
}

/// A metadata record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata<'a> {
    /// A provider's name; what follows is of this provider.
    ProviderInfo {
        /// The provider's id in this trace.
        id: u32,
        /// The provider's name, at most 255 bytes; a longer one is cut.
        name: &'a [u8],
    },
    /// What follows is of this provider.
    ProviderSection {
        /// The provider's id in this trace.
        id: u32,
    },
    /// Something happened to a provider; says nothing about what follows.
    ProviderEvent {
        /// The provider's id in this trace.
        id: u32,
        /// What happened; 4 bits are stored.
        event: ProviderEvent,
    },
    /// The magic number record, the first of an archive.
    MagicNumber,
}

/// A record that is not understood, as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownRecord<'a> {
    /// The header word. Its size is not used when the record is encoded.
    pub header: u64,
    /// What follows the header, whole words.
    pub payload: &'a [u8],
}

macro_rules! record_from {
    ($($name:ident),*) => {$(
        impl<'a> From<$name<'a>> for Record<'a> {
            fn from(record: $name<'a>) -> Self {
                Self::$name(record)
            }
        }
    )*};
}

record_from!(
    Metadata,
    Event,
    Blob,
    UserspaceObject,
    KernelObject,
    ContextSwitch,
    ThreadWakeup,
    Log,
    Module,
    Backtrace,
    LargeBlob
);

impl From<LegacyContextSwitch> for Record<'_> {
    fn from(record: LegacyContextSwitch) -> Self {
        Self::LegacyContextSwitch(record)
    }
}

impl From<Mmap> for Record<'_> {
    fn from(record: Mmap) -> Self {
        Self::Mmap(record)
    }
}
