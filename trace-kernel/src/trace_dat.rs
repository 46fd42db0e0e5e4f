//! Files of `trace-cmd record`, of the versions 6 and 7.
//!
//! A file has the kernel's formats, options, and pages of each CPU: `trace-cmd.dat.v6(5)` and
//! `trace-cmd.dat.v7(5)` describe it. [`TraceDat`] returns the events of all CPUs in the order of
//! time, and reads one page of each CPU at a time. [`TraceCmd`]
//! converts a file to an archive.

mod compression;
mod cpu;
mod error;
pub(crate) mod fields;
mod input;
pub(crate) mod metadata;
mod reader;
mod version6;
mod version7;

pub use error::TraceDatError;
pub use input::TraceCmd;
pub use reader::{Item, TraceDat};

/// The first bytes of a file.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";
