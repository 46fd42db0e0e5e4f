//! Instruction traces in Intel PT's format
//!
//! - [`pt`] has the packets: layout, encoding, decoding, and a writer that turns what a program
//!   executes into packets.
//! - [`flow`] finds the instructions that were executed, from packets and code.
//! - [`controller`] is the protocol by which a trace is set up, started and read, without I/O.
//! - `step` executes a process one instruction at a time and writes its packets (Linux on x86-64).
#![deny(unsafe_code)]

pub mod controller;
pub mod flow;
pub mod pt;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod step;
