//! Instruction traces in Intel PT's format
//!
//! - [`pt`] has the packets: layout, encoding, decoding, and a writer for the packets of an
//!   execution.
//! - [`flow`] reconstructs the executed instructions from packets and code.
//! - [`controller`] is the protocol for setting up, starting and reading a trace, without I/O.
//! - [`recording`] is the traces of several threads as files, with the code that they execute.
//! - [`symbols`] has the functions of that code, and [`calls`] the calls of a trace.
//! - [`hardware`] records by the processor's own tracing.
//! - [`perf_data`] is recordings as files of perf.
//! - [`print`](mod@print) writes a recording in several formats.
//! - `service` is the controller for the clients of a socket, with its client library.
//! - `step` executes processes one instruction at a time and writes their packets (Linux on
//!   x86-64).
#![deny(unsafe_code)]

pub mod calls;
pub mod controller;
pub mod flow;
pub mod hardware;
pub mod perf_data;
pub mod print;
pub mod pt;
pub mod recording;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod service;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod step;
pub mod symbols;
