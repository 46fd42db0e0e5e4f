#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

mod debug_info;
mod demangle;
mod file;
mod frame;
mod functions;
mod limited;
mod module;
#[cfg(unix)]
mod perf_map;
mod places;
mod segments;
mod split;

pub use demangle::demangle;
pub use file::{build_id, open};
pub use frame::Frame;
pub use functions::{FunctionSymbol, Functions};
pub use limited::Limited;
pub use module::{ModuleError, ModuleSymbols};
#[cfg(unix)]
pub use perf_map::{perf_map_names, PerfMapError};
pub use places::{CodeName, PlaceError};
pub use segments::Segments;
