//! Reader and writer of the Fuchsia trace format (FXT).
//!
//! The modules, from the lowest level up:
//!
//! - [`layout`] defines every bit of every record: bit ranges, type numbers and limits. No other
//!   module defines any, and neither do the crates that depend on this one.
//! - [`Record`] is one record as a value. Its strings and threads are inline or an index in a
//!   table, as in the encoded record.
//! - [`encode`] converts a record to words, and [`decode`] converts bytes to a record. Both handle
//!   one record, without tables. [`words`] changes the words of an encoded record in place.
//! - `Writer` and `Reader` (feature `std`, on by default) handle archives: provider sections, and
//!   tables of strings and threads. `Decoder` is the reader without I/O. An `Item` is one record
//!   with its provider. `audit` counts unknown references and arguments of unknown types.
//! - [`notes`] names the events by which an archive reports its own gaps and clocks.
//!
//! Words are little endian in a trace. In memory they are `u64` in the byte order of the host.
//! Quoted names in the documentation are headings of the [specification].
//!
//! [specification]: https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format
//!
//! # Examples
//!
//! ```
//! use trace_format::{decode, encode, Event, EventKind, Record, Thread, ThreadKoids};
//!
//! let event = Event {
//!     ticks: 1_000,
//!     thread: Thread::Inline(ThreadKoids::new(12, 34)),
//!     category: "net".into(),
//!     name: "poll".into(),
//!     kind: EventKind::DurationComplete { end: 1_500 },
//!     arguments: (&[]).into(),
//! };
//! let mut words: Vec<u64> = Vec::new();
//! encode::append(&mut words, &event.into())?;
//! assert_eq!(words.len(), 7);
//!
//! let bytes = encode::to_bytes(&words);
//! let record = decode::record(&bytes)?;
//! assert_eq!(record, Record::Event(event));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "std")]
pub mod audit;
pub mod decode;
mod decode_error;
pub mod encode;
pub mod layout;
pub mod notes;
#[cfg(feature = "std")]
pub mod reader;
pub mod record;
mod ticks;
pub mod words;
#[cfg(feature = "std")]
pub mod writer;

pub use decode::DecodeError;
pub use encode::EncodeError;
pub use layout::{StringRef, ThreadKoids, ThreadRef};
#[cfg(feature = "std")]
pub use reader::{Decoder, Item, Limits, Provider, ReadError, Reader, Stats};
pub use record::{
    Argument, Arguments, Backtrace, Blob, ContextSwitch, Event, EventKind, Frames, KernelObject,
    LargeBlob, LargeBlobEvent, LegacyContextSwitch, Log, Metadata, Mmap, Module, Process, Record,
    Reference, ReferenceMut, Text, Thread, ThreadWakeup, UnknownArgument, UnknownRecord,
    UserspaceObject, Value,
};
pub use ticks::TickRate;
#[cfg(feature = "std")]
pub use writer::{WriteError, Writer};
