//! The Fuchsia trace format (FXT): layout, encoding and decoding
//!
//! [`layout`] says where every bit of every record lies; everything else in
//! this crate, and in the crates that depend on it, takes bit positions, type
//! numbers and limits from there.
//!
//! All words are little endian in a trace; in memory they are `u64` in the
//! byte order of the host.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub mod layout;
