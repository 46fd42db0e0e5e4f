//! What a trace provider and the trace manager agree on: the shared buffer and the messages

pub mod archive;
pub mod buffer;
pub mod categories;
pub mod clock;
pub mod error;
pub mod file;
pub mod message;
pub mod mode;
pub mod ntrace;
pub mod packet;
pub mod socket;
pub mod words;

mod sync;
mod sys;

pub use sys::{counter, slices, thread_id};

#[cfg(not(target_endian = "little"))]
compile_error!("the trace buffer's words are little endian, and so must the host be");
