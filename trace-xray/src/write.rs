//! Writing of logs.
//!
//! [`encode`] knows one record. A [`Buffer`] is a thread buffer that is filled in memory: it adds
//! the records for time, CPU and thread. A [`Log`] writes a header and thread buffers.
//!
//! # Version 1
//!
//! The specification has the rest of a thread buffer skipped behind its EndOfBuffer record, LLVM's
//! tools do not skip it. So a thread buffer of version 1 is filled up to its size with records that
//! change nothing, and EndOfBuffer is its last record. The fillers are TscWrap records of the
//! current time. If the space is no multiple of their size, there is one custom event besides; its
//! payload starts with [`FILLER`](crate::layout::FILLER).

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
