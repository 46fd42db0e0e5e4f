//! Intel PT of the processor, through the kernel's event source `intel_pt`.
//!
//! - [`Pmu`] is what sysfs reports about it: its number, its options and their ranges.
//! - [`Settings`] are the arguments of `perf_event_open(2)` for a buffer.
//! - [`Collector`] takes the packets and the losses out of an AUX area, which the processor writes.
//! - `Recorder` opens the events of a process or of all CPUs, and records what they write.
//!
//! No event of Intel PT has been opened by it yet: no machine of its tests has one. The side events
//! and the reading of areas are tested.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod area;
mod aux;
mod pmu;
mod program;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod recorder;
mod settings;

pub use crate::controller::Losses;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use area::LEAST_BYTES;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use area::{Area, EventArea};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use aux::held_bytes;
pub use aux::{AuxArea, Collector};
pub use pmu::{Missing, Pmu};
pub use program::code_of_file;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use program::code_of_process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use recorder::timing;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use recorder::{RecordError, Recorder, Traced};
pub use settings::Settings;
