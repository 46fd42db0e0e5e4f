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
//!
//! Without permission for tracefs, the source is another [`BackendKind`]. Samples of call stacks
//! and counters are sources of their own, beside that of the kernel's events.

pub(crate) mod backend;
mod batch;
mod categories;
mod cgroup;
mod choice;
mod clock;
mod error;
mod frequent;
mod instance;
mod members;
mod options;
pub(crate) mod perf;
mod processes;
mod provider;
mod recent;
mod recorder;
mod sampling;
mod scope;
mod selection;
mod served;
mod setup;
mod sink;
mod source;
mod sources;
mod stat;
mod totals;
mod tracefs;
mod translate;
mod uprobes;
mod watch;

pub use categories::{is_kernel_category, CATEGORIES, COUNTER_PREFIX, EVENT_PREFIX, SAMPLES};
pub use cgroup::Cgroup;
pub use choice::{probe, probe_helper, BackendKind, Fallback};
pub use error::{check_sample_rate, LiveError, PerfScope};
pub use instance::check;
pub use options::{CallGraph, Options, SampleEvent, SampleOptions, SampleRate, SampledCounter};
pub use perf::counters::{check_name as check_counter, probe as probe_counters, CounterReport};
pub use perf::samples::{probe as probe_samples, SampleCounter, SampleSource};
pub use processes::threads_of;
pub use provider::KernelProvider;
pub use scope::Scope;
pub use served::{serve, ServeError, Server, DEFAULT_SOCKET};
pub use sources::SourceReport;
pub use totals::Totals;
pub use trace_provider::is_privileged;
pub use uprobes::{check_probe, ProbeError, ProbeFault, CALL_PREFIX, ENTRY_PREFIX};
