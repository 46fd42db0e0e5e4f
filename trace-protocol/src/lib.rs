//! The interface between a trace provider and the trace manager: the shared buffer and the
//! messages.

// Each module that allows unsafe code is named in ARCHITECTURE.md.
#![deny(unsafe_code)]

pub mod archive;
pub mod buffer;
pub mod categories;
pub mod clock;
pub mod control;
pub mod error;
pub mod file;
pub mod message;
pub mod mode;
pub mod ntrace;
pub mod packet;
pub mod socket;
#[allow(unsafe_code)]
pub mod words;

mod fence;
mod limits;
mod sync;
#[allow(unsafe_code)]
mod sys;

pub use sys::pages::{
    free_spares as free_spare_pages, prepare_spare as prepare_spare_pages, PreparedPages,
};
pub use sys::{counter, slices, thread_id};

#[cfg(not(target_endian = "little"))]
compile_error!("the trace buffer has little-endian words, so the host must be little-endian");
