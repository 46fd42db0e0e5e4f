//! Context switches by `perf_event_open(2)`, for users who may not use tracefs.
//!
//! ```text
//! switches of a CPU ──► ring buffer ──► records ──► records of all CPUs ──► events
//!  (kernel)             (mapped)                    in the order of time
//! ```
//!
//! With CAP_PERFMON the kernel writes the switches of all threads with both of their threads.
//! Without it, those of a process and its descendants: each record has one thread.

pub(crate) mod area;
pub(crate) mod aux_event;
pub(super) mod counters;
mod cpu;
pub(crate) mod cpus;
pub(crate) mod events;
pub(crate) mod hotplug;
pub(crate) mod record;
mod ring;
pub(crate) mod samples;
pub(crate) mod side;
pub(crate) mod sys;
pub(crate) mod throttled;
pub(crate) mod timed;
pub(super) mod tracepoints;

use self::cpus::Cpus;
use self::events::{Events, Switches};
use self::record::{Body, SampleLayout, NO_THREAD};
use self::sys::{Attributes, Target};
use super::backend::{Backend, Output, Progress};
use super::clock::TraceClock;
use super::error::{LiveError, PerfScope};
use super::processes;
use super::scope::Scope;

/// An event that counts nothing, whose records are context switches and the starts, ends and names
/// of threads: `exclude_kernel` and `context_switch`.
const SWITCHES: Attributes = Attributes {
    kind: 1,
    config: 9,
    rate: 0,
    sample_type: sys::SAMPLE_TID_TIME_CPU,
    flags: 1 << 5 | 1 << 26,
    branches: 0,
    registers: 0,
    stack: 0,
};

/// The switches of threads by `perf_event_open(2)`.
#[derive(Debug)]
pub(super) struct Perf {
    cpus: Cpus,
    switches: Switches,
    scope: Vec<u64>,
    /// The thread that starts the command, which is the scope.
    starter: Option<u64>,
    events: Events,
}

impl Perf {
    /// Records the switches of all threads, or those of a control group. Of all threads, only those
    /// from and to the threads of `scope`, and those that these create, are used.
    pub(super) fn of_cpus(scope: &Scope, bytes: u64) -> Result<Self, LiveError> {
        match scope {
            Scope::Cgroup(_) => Self::open(scope, &scope.targets(), Switches::Cgroup, bytes),
            _ => Self::open(scope, &[Target::Cpu], Switches::Machine, bytes),
        }
    }

    /// Records the switches of the threads of a scope, and of the threads and processes that they
    /// create.
    pub(super) fn of_threads(scope: &Scope, bytes: u64) -> Result<Self, LiveError> {
        let targets: Vec<Target> = scope.threads()?.into_iter().map(Target::Thread).collect();
        Self::open(scope, &targets, Switches::Threads, bytes)
    }

    fn open(
        scope: &Scope,
        targets: &[Target],
        switches: Switches,
        bytes: u64,
    ) -> Result<Self, LiveError> {
        let kind = match switches {
            Switches::Machine => PerfScope::Machine,
            Switches::Cgroup => PerfScope::Cgroup,
            Switches::Threads => PerfScope::Threads,
        };
        let cpus = Cpus::open(&SWITCHES, SampleLayout::default(), targets, bytes);
        let cpus = cpus.map_err(|error| LiveError::Perf(kind, error))?;
        let (scope, starter) = match scope {
            Scope::Threads(threads) => (threads.clone(), None),
            Scope::Command(starter) => (Vec::new(), Some(*starter)),
            Scope::Machine | Scope::Cgroup(_) => (Vec::new(), None),
        };
        Ok(Self { cpus, switches, scope, starter, events: Events::default() })
    }
}

impl Backend for Perf {
    fn start(&mut self) -> Result<(), String> {
        self.events = Events::new(processes::names(), self.switches, &self.scope);
        self.events.set_processes(processes::threads());
        if let Some(starter) = self.starter {
            self.events.limit_to_command(starter);
        }
        self.cpus.start()
    }

    fn stop(&mut self) -> Result<(), String> {
        self.cpus.stop()
    }

    fn read(&mut self, clock: &TraceClock, _now: u64) -> Progress {
        self.cpus.read(clock)
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Self { cpus, events, switches, .. } = self;
        cpus.write(end, output, |timed, Output { translator, sink, .. }| {
            // The kernel has selected its thread, which may have been moved into the group.
            let is_switch =
                matches!(timed.record.body, Body::SwitchIn { .. } | Body::SwitchOut { .. });
            let thread = timed.record.sample.thread;
            if *switches == Switches::Cgroup && is_switch && thread != NO_THREAD {
                translator.include([thread.into()]);
            }
            let written = events.push(timed, |entry| translator.entry(sink, entry));
            written.map_err(|error| error.to_string())
        })
    }

    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        self.cpus.finish(now, output)
    }

    fn discard(&mut self) -> u64 {
        self.cpus.discard()
    }
}
