//! Writing of logs.
//!
//! [`encode`] knows one record. A [`Buffer`] is a thread buffer that is filled in memory: it adds
//! the records for time, CPU and thread. A [`Log`] writes a header and thread buffers.
//!
//! # Version 1
//!
//! By the specification, readers skip the rest of a thread buffer after its EndOfBuffer record.
//! LLVM's tools do not. So a thread buffer of version 1 is filled up to its size with records that
//! have no effect, and EndOfBuffer is its last record. The fillers are TscWrap records of the
//! current time. If the space is not a multiple of their size, a custom event is added, whose
//! payload is [`FILLER`](crate::layout::FILLER) and zeros.

mod buffer;
pub mod encode;
mod error;
mod log;

pub use buffer::{Buffer, Stamp};
pub use encode::EncodeError;
pub use error::WriteError;
pub use log::{Anchor, Log};

/// The smallest size of a thread buffer.
pub const MIN_BUFFER_BYTES: u64 = 256;
