//! A reader of trace archives for C and C++: [`trace_format::Reader`] behind `trace_reader.h`.
//!
//! The header documents the interface. It is a library of its own, so that a program that only
//! traces does not link it. `unsafe` is in `ffi` alone, where pointers of C arrive; the rest makes
//! structures of C from records, and only C reads their pointers.

#![deny(unsafe_code)]

pub mod abi;
mod convert;
#[allow(unsafe_code, reason = "the boundary to C")]
pub mod ffi;
mod session;
mod texts;
