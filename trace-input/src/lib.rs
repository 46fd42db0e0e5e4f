#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compression;
mod json;
mod kind;
pub mod message;
mod perfetto;
mod xray;

pub use compression::decompress;
pub use json::{json_error, json_shift};
pub use kind::InputKind;
pub use xray::map_beside;

/// Bytes that are read to detect a format; JSON may start with white space.
pub const START_BYTES: u64 = 4096;
