//! A reader of trace archives for C and C++: [`trace_format::Reader`] behind `trace_reader.h`.
//!
//! The header documents the interface. It is a separate library, so that a program that only traces
//! does not link it. Only `ffi`, which receives pointers from C, has `unsafe`. The other modules
//! convert records to structures of C, and only C reads their pointers.

#![deny(unsafe_code)]

pub mod abi;
mod archive_reader;
mod convert;
#[allow(unsafe_code, reason = "the boundary to C")]
pub mod ffi;
mod texts;
