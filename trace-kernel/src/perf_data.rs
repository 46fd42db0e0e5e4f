//! Files of `perf record`, also those that it writes to a pipe.
//!
//! ```text
//! header, events ──► records of all buffers ──► records in the ──► samples, names, switches, …
//! and features       (decompressed)             order of time      as records of an archive
//! ```
//!
//! A file has its events, the records of the kernel's ring buffers and descriptions ("features") at
//! its end. The output of a pipe has the same as records. The kernel's `perf_event.h` and perf's
//! `perf.data-file-format.txt` describe both. Numbers have the byte order of the machine that
//! recorded them.
//!
//! No number of the file is trusted: memory is limited, and a malformed file is an error after the
//! records before it.

mod attribute;
mod aux_data;
mod convert;
mod error;
mod features;
mod fields;
mod header;
mod input;
mod notes;
mod order;
mod parse;
mod profile;
mod raw;
mod sample;
mod slots;
mod stream;
mod tracing;

pub use crate::live::perf::aux_event::AuxEvent;
pub use aux_data::{read_aux, AuxQueue, AuxVisitor};
pub use error::PerfDataError;
pub use input::PerfData;
