//! The controller of `fuchsia.hardware.cpu.insntrace`, without I/O.
//!
//! - [`Call`] and [`Reply`] are the protocol's methods as values. [`Status`] has its errors.
//! - [`Controller::call`] is the state machine. It checks the order and the arguments of calls, and
//!   keeps the allocated buffers.
//! - A [`Backend`] executes the calls. The controller requests only features in its
//!   [`Capabilities`].
//!
//! If the protocol's text and Fuchsia's driver differ, the controller follows the text. `Stop` is
//! ignored if tracing is off, `Stop` and `Terminate` can be repeated, and `Terminate` fails only
//! while threads have buffers.

mod backend;
mod call;
mod config;
pub mod ctl;
mod machine;

pub use backend::{Backend, Capabilities};
pub use call::{
    Allocation, BufferConfig, BufferDescriptor, BufferState, Call, Losses, Mode, Reply, SideData,
    Status, ThreadKoid,
};
pub use machine::Controller;

/// The version of the protocol.
pub const API_VERSION: u16 = 0;

/// The most address ranges of a buffer.
pub const MAX_ADDRESS_RANGES: u8 = 2;

/// The most traces at once. A trace is the instructions of one CPU or thread.
pub const MAX_TRACES: u16 = 64;

/// The most chunks of a buffer.
pub const MAX_CHUNKS: u32 = 4096;

/// The largest `chunk_order` of a buffer: chunks of 2^8 pages.
pub const MAX_CHUNK_ORDER: u32 = 8;

/// The largest buffer, in bytes.
pub const MAX_BUFFER_BYTES: u64 = 256 << 20;

/// The size of a page, in bytes.
pub const PAGE_BYTES: u64 = 4096;
