//! The shared buffer. Its layout, states and rules are in `docs/buffer.md`.
//!
//! This is the only module of the crate, beside the sockets, with `unsafe` in it: the memory is
//! shared with another process, and the hot path writes it through pointers.

pub mod consumer;
pub mod header;
pub mod memory;
pub mod omission;
pub mod producer;
pub mod saved;
