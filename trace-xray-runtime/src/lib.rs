#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! | module | subject |
//! |---|---|
//! | `start`, `life` | start of the library in a program, and its end |
//! | `settings`, `selection`, `names` | the environment, and the choice of functions by name |
//! | `restriction`, `sandbox`, `interpose` | programs that restrict their system calls, and how that is noticed |
//! | `objects`, `files`, `functions`, `sites` | the program and its shared libraries, their functions with sleds, a trace point for each |
//! | `sled`, `text`, `patch` | machine code of sleds, access to program text, patching of an object |
//! | `stubs`, `trampoline` | the code that a patched sled calls |
//! | `wide` | functions whose callers may pass values in AVX registers |
//! | `handler`, `events`, `calls`, `thread`, `pool`, `signals`, `own` | records of entries, exits and events, from the open calls of each thread |
//! | `control` | what is patched during sessions |
//! | `session` | the thread that does it |
// Each module that allows unsafe code is named in ARCHITECTURE.md.
#![deny(unsafe_code)]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod calls;
mod control;
mod events;
mod files;
mod functions;
#[allow(unsafe_code)]
mod handler;
#[allow(unsafe_code)]
mod interpose;
mod life;
mod names;
#[allow(unsafe_code)]
mod objects;
#[allow(unsafe_code)]
mod own;
mod patch;
#[allow(unsafe_code)]
mod pool;
mod restriction;
mod sandbox;
mod selection;
mod session;
mod settings;
mod signals;
#[allow(unsafe_code)]
mod sites;
mod sled;
#[allow(unsafe_code)]
mod start;
#[allow(unsafe_code)]
mod stubs;
#[allow(unsafe_code)]
mod sys;
#[allow(unsafe_code)]
mod text;
#[allow(unsafe_code)]
mod thread;
#[allow(unsafe_code)]
mod trampoline;
mod wide;
