//! The Fuchsia trace format (FXT): layout, encoding and decoding
//!
//! From the bottom up:
//!
//! - [`layout`] says where every bit of every record lies. Everything else in
//!   this crate, and in the crates that depend on it, takes bit positions,
//!   type numbers and limits from there.
//! - [`Record`] is one record as a value, with its strings and threads as the
//!   record has them: inline, or as an index in a table.
//! - [`encode`] turns a record into words and [`decode`] turns bytes into a
//!   record. Both know one record at a time and no tables. [`words`] changes the
//!   words of an encoded record in place.
//! - `Writer` and `Reader` (feature `std`, on by default) know whole archives:
//!   sections of providers, string tables and thread tables. `Decoder` is the
//!   reader without input: it takes bytes as they come. An `Item` is one record
//!   with its provider; `audit` counts the references that lead nowhere,
//!   and arguments of unknown types.
//!
//! All words are little endian in a trace; in memory they are `u64` in the
//! byte order of the host.
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
