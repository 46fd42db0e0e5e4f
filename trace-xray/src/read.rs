//! Reading of logs.
//!
//! [`decode`] knows one record. A [`Decoder`] takes the bytes of a log in pieces and returns
//! [`Item`]s: each a record with the state of its thread buffer. A [`Reader`] does the same over
//! [`std::io::Read`]. [`Ordered`] returns thread buffers in the order of their times.
//!
//! # Errors, and the position after them
//!
//! | error | position |
//! |---|---|
//! | the header is cut off, of another format, or of an unknown version: [`ReadError::Header`] | the end |
//! | a record cannot be decoded: [`ReadError::Record`] | next thread buffer |
//! | a record reaches beyond its thread buffer: [`ReadError::Overrun`] | next thread buffer |
//! | a record is at a wrong place in the start of a thread buffer: [`ReadError::Unexpected`] | next thread buffer |
//! | a record is at a wrong place after the start: [`ReadError::Unexpected`] | next record |
//! | a function record is of function 0: [`ReadError::NoFunction`] | next record |
//! | a thread buffer ends before its first CPU record: [`ReadError::NoStart`] | next thread buffer |
//! | a thread buffer has zeros in place of records: [`ReadError::Zeros`] | next thread buffer |
//! | a thread buffer of version 1 has no end: [`ReadError::NoEndOfBuffer`] | next thread buffer |
//! | another thread buffer begins in one: [`ReadError::WrongExtents`] | that thread buffer |
//! | a payload is beyond the limit: [`ReadError::PayloadTooLarge`] | next record |
//! | the bytes between thread buffers are unknown: [`ReadError::NotABuffer`] | next thread buffer that is found |
//! | the padding of version 1 is cut off: [`ReadError::PaddingTruncated`] | the end |
//! | the log ends within a thread buffer: [`ReadError::Truncated`] | the end |
//! | reading fails: [`ReadError::Io`] | the end |
//!
//! Zeros between thread buffers and after the last one are padding, not an error. A header between
//! thread buffers starts another log.
//!
//! # Memory
//!
//! Memory does not grow with the log: the state of one thread buffer, a block of bytes, and the
//! longest payload, at most [`Limits::payload_bytes`].

mod boundary;
pub mod decode;
mod decoder;
mod error;
mod grammar;
mod item;
mod ordered;
mod reader;
mod state;
mod window;

pub use decode::{DecodeError, HeaderError};
pub use decoder::Decoder;
pub use error::ReadError;
pub use item::{Item, ThreadBuffer};
pub use ordered::Ordered;
pub use reader::Reader;
pub use state::{Limits, Stats};
