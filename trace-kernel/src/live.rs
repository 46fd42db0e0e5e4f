//! The kernel of this machine as a provider.
//!
//! ```text
//! tracefs                              provider
//! instances/trace-PID-… ──► pages of ──► events in the ──► records ──► buffer
//! (ring buffer of each CPU)  each CPU     order of time
//! ```
//!
//! A thread reads the pages of all CPUs in rounds. The events before the round began are complete
//! and are merged by their times; the rest waits for the next round.

mod backend;
mod batch;
mod categories;
mod clock;
mod error;
mod instance;
#[cfg(test)]
mod perf;
mod processes;
mod provider;
mod recorder;
mod selection;
mod sink;
mod totals;
mod tracefs;

pub use categories::{is_kernel_category, CATEGORIES, EVENT_PREFIX};
pub use error::LiveError;
pub use instance::check;
pub use processes::threads_of;
pub use provider::{KernelProvider, Options};
pub use totals::Totals;
