//! Analysis of traces.
//!
//! - [`check`] reports whether an archive is well-formed and what is missing in it.
//! - [`stats`] counts durations, operations, flows, counters and instants, with percentiles.
//! - [`diff`] compares the statistics of archives.
//! - [`critical`] follows the critical path of an operation or a flow.
//! - [`extent`] returns the times between which an archive has events, and its processes and
//!   threads.
//! - [`parents`] returns the parents of async operations, and [`nested`] their times.
//! - [`schedule`] returns the time that threads spent on a processor.
//! - [`input`] opens other formats as archives.
//! - [`spans`] assembles durations from their records, for an analysis of your own.
//!
//! All of them read an archive as a stream of [`Item`](trace_format::Item)s. Memory grows with the
//! number of names and threads, not with the length of the archive. [`critical`] reads an archive
//! several times, and holds the operations that the chosen one started.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod carried;
pub mod catalog;
pub mod check;
pub mod contents;
pub mod critical;
mod damage;
pub mod diff;
mod distribution;
mod exact;
pub mod extent;
mod group;
pub mod input;
mod kinds;
pub mod koids;
mod loss;
pub mod nested;
pub mod objects;
mod own;
pub mod pairing;
pub mod parents;
pub mod schedule;
pub mod scheduling;
pub mod slowest;
pub mod spans;
pub mod stats;
#[cfg(test)]
mod testing;

pub use damage::Damage;
pub use exact::{exact, MAX_SAFE_INTEGER};
pub use kinds::Kinds;
pub use loss::{Gap, Loss};
pub use own::{is_added, is_clock_anchor};
