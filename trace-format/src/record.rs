//! Records as values, for encoding and decoding.
//!
//! A record borrows its strings and bytes. Strings and threads are inline or an index, see [`Text`]
//! and [`Thread`]. The tables of a `Reader` resolve an index.

mod argument;
pub(crate) mod argument_cursor;
mod arguments;
pub(crate) mod cursor;
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
    /// Type 0, metadata of the trace. Only the trace manager writes it.
    Metadata(Metadata<'a>),
    /// Type 1, the rate of the provider's clock.
    Initialization {
        /// The rate of the provider's clock, in ticks per second, never 0.
        ticks_per_second: u64,
    },
    /// Type 2, registers a string in the provider's string table.
    String {
        /// The index, in `1 ..= 0x7fff`. Readers ignore a record with 0.
        index: u16,
        /// The string. A correct provider writes UTF-8.
        value: &'a [u8],
    },
    /// Type 3, registers a thread in the provider's thread table.
    Thread {
        /// The index, in `1 ..= 255`. Readers ignore a record with 0.
        index: u8,
        /// The thread.
        koids: ThreadKoids,
    },
    /// Type 4, an event.
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
    /// Type 15, large type 0, bulk data larger than other records.
    LargeBlob(LargeBlob<'a>),
    /// A record of an unknown type, metadata type, event type or other type.
    Unknown(UnknownRecord<'a>),
}

/// A metadata record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata<'a> {
    /// A provider's name. The following records are this provider's.
    ProviderInfo {
        /// The provider's id in this trace.
        id: u32,
        /// The provider's name, at most 255 bytes. [`encode`](crate::encode) cuts longer ones.
        name: &'a [u8],
    },
    /// The following records are this provider's.
    ProviderSection {
        /// The provider's id in this trace.
        id: u32,
    },
    /// An event of a provider. It does not change the provider of the following records.
    ProviderEvent {
        /// The provider's id in this trace.
        id: u32,
        /// The event. 4 bits are stored.
        event: ProviderEvent,
    },
    /// The magic number record, the first record of an archive.
    MagicNumber,
}

/// A record of an unknown type, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownRecord<'a> {
    /// The header word. [`encode`](crate::encode) replaces its size by the actual one.
    pub header: u64,
    /// The words after the header.
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
