//! Instruction traces in Intel PT's format
//!
//! - [`pt`] has the packets: layout, encoding, decoding, and a writer that turns what a program
//!   executes into packets.
//! - [`flow`] finds the instructions that were executed, from packets and code.
//! - [`controller`] is the protocol by which a trace is set up, started and read, without I/O.
#![forbid(unsafe_code)]

pub mod controller;
pub mod flow;
pub mod pt;
