//! The shared buffer. Its layout, states and rules are in `docs/buffer.md`.
//!
//! The provider's half has `unsafe` in it: the hot path writes the memory through pointers.

pub mod consumer;
pub mod function;
pub mod header;
pub mod memory;
pub mod omission;
#[allow(unsafe_code)]
pub mod producer;
pub mod saved;
