//! Instruction traces in Intel PT's format
//!
//! - [`pt`] has the packets: layout, encoding, decoding, and a writer for the packets of an
//!   execution.
//! - [`flow`] reconstructs the executed instructions from packets and code.
//! - [`controller`] is the protocol for setting up, starting and reading a trace, without I/O.
//! - `step` executes a process one instruction at a time and writes its packets (Linux on x86-64).
#![deny(unsafe_code)]

pub mod controller;
pub mod flow;
pub mod pt;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod step;
