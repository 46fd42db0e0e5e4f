#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

mod debug_info;
mod demangle;
mod file;
mod frame;
mod functions;
mod limited;
mod module;
mod named;
#[cfg(unix)]
mod perf_map;
mod place_error;
mod places;
mod segments;
mod split;
mod symbol;

pub use demangle::demangle;
pub use file::{build_id, open};
pub use frame::Frame;
pub use functions::Functions;
pub use limited::Limited;
pub use module::{ModuleError, ModuleSymbols};
pub use named::functions_named;
#[cfg(unix)]
pub use perf_map::{perf_map_names, PerfMapError};
pub use place_error::PlaceError;
pub use places::CodeName;
pub use segments::Segments;
pub use symbol::FunctionSymbol;
