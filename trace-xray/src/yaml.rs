//! Logs as YAML, in the form of `llvm-xray convert -f yaml`.
//!
//! ```yaml
//! ---
//! header:
//!   version:         1
//!   type:            1
//!   constant-tsc:    true
//!   nonstop-tsc:     true
//!   cycle-frequency: 1000000000
//! records:
//!   - { type: 0, func-id: 1, function: main, cpu: 0, thread: 8, process: 7, kind: function-enter, tsc: 1000, data: '' }
//! ...
//! ```
//!
//! Each record has its time, CPU, thread and process. There are no thread buffers, wall clocks, and
//! records that only change the time or the CPU. [`read()`] makes a binary log of it, which has the
//! same calls and events, and [`write()`] is the reverse.

mod error;
mod kind;
mod read;
mod write;

pub use error::Error;
pub use read::{detects, read};
pub use write::{write, Counts};

pub use crate::yaml_parser::YamlError;
