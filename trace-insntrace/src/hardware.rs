//! Intel PT of the processor, through the kernel's event source `intel_pt`.
//!
//! - [`Pmu`] is what sysfs reports about it: its number, its options and their ranges.
//! - [`Settings`] are the arguments of `perf_event_open(2)` for a buffer.
//! - [`Collector`] takes the packets and the losses out of an AUX area, which the processor writes.
//!
//! Nothing here makes system calls, and no part of it has run on a processor with Intel PT.

mod aux;
mod pmu;
mod settings;

pub use aux::{AuxArea, Collector, Losses};
pub use pmu::{Missing, Pmu};
pub use settings::Settings;
