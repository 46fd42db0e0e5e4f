//! Events of the kernel for tracing by the processor, such as Intel PT.
//!
//! - [`AuxBuffer`] is an event whose data the processor writes to memory that it shares with this
//!   process.
//! - [`SideEvents`] are the mappings, names and switches of threads, which decoders of these data
//!   require. They come from an event of the kernel that any machine has.

pub use crate::live::perf::area::{AuxBuffer, AuxOptions};
pub use crate::live::perf::hotplug::online;
pub use crate::live::perf::side::SideEvents;
pub use crate::live::perf::sys::Target;
