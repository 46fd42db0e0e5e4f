//! Analysis of traces.
//!
//! - [`check`] reports whether an archive is well-formed and what is missing in it.
//! - [`stats`] counts durations, operations, flows, counters and instants, with percentiles.
//! - [`diff`] compares the statistics of archives.
//! - [`critical`] follows the critical path of an operation or a flow.
//! - [`extent`] returns when an archive starts and ends, and the names in it.
//! - [`schedule`] returns when threads were on a processor.
//! - [`input`] opens other formats as archives.
//! - [`spans`] puts whole durations together, for an analysis of your own.
//!
//! All of them read an archive as a stream of [`Item`](trace_format::Item)s, in memory that does
//! not depend on its length but on how many names and threads there are. [`critical`] reads it more
//! than once, and holds what a process did during the operation that it follows.
#![forbid(unsafe_code)]

mod anchor;
pub mod arguments;
pub mod carried;
pub mod catalog;
pub mod check;
pub mod critical;
mod damage;
pub mod diff;
mod exact;
pub mod extent;
pub mod input;
pub mod koids;
mod loss;
pub mod objects;
pub mod pairing;
pub mod schedule;
pub mod scheduling;
pub mod slowest;
pub mod spans;
pub mod stats;
#[cfg(test)]
mod testing;

pub use anchor::is_clock_anchor;
pub use damage::Damage;
pub use exact::{exact, MAX_SAFE_INTEGER};
pub use loss::Loss;
