//! Trace points for C and C++, which write into the same buffer as those of Rust.
//!
//! The header `include/trace.h` documents the interface for C and C++. This crate implements it: as
//! a static library for programs in C and C++, or as a dependency of a program in Rust with parts
//! in C or C++:
//!
//! ```
//! // Links the library for the parts in C, although no Rust code uses it:
//! extern crate trace_c as _;
//! ```
//!
//! No function of this crate unwinds. Functions that trace points call cannot panic. All others
//! catch panics.

// Each module that allows unsafe code is named in ARCHITECTURE.md.
#![deny(unsafe_code)]

mod contain;
#[allow(unsafe_code)]
mod guard;
#[allow(unsafe_code)]
pub mod points;
#[allow(unsafe_code)]
pub mod records;
#[allow(unsafe_code)]
pub mod status;
