//! Programs in C and C++, compiled here with the system's compilers, are traced like those in Rust.
//!
//! The compilers are `cc` and `c++`, or `TEST_CC` and `TEST_CXX`.
#![cfg(target_os = "linux")]

#[path = "../harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "these programs use a part of it")]
mod harness;

mod events;
mod installed;
mod mistakes;
mod modules;
mod ntrace;
mod points;
mod processes;
mod reader;
mod records;
mod status;
mod workshop;
