//! Records of the macros, read back from the archive.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

mod archive;
#[cfg(feature = "attributes")]
mod attribute;
mod blobs;
mod context;
mod flows;
mod formatted;
mod names;
mod objects;
mod places;
mod state;
mod tracks;
