//! A step engine: the instructions of processes, executed one by one.
//!
//! It works on any x86-64 Linux, without hardware for tracing. It is exact and slow: each
//! instruction is a stop of its thread, which takes about 10 µs.

mod code;
mod encoder;
mod maps;
mod options;
mod ptrace;
mod range;
mod spawn;
mod status;
mod stops;
mod thread;
mod tracer;

pub use options::Options;
pub use range::TracedRange;
pub use thread::Executed;
pub use tracer::{StopHandle, Tracer};
