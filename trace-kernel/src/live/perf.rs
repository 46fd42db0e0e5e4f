//! Context switches by `perf_event_open(2)`, for users who may not use tracefs.
//!
//! ```text
//! switches of a CPU ──► ring buffer ──► records ──► records of all CPUs ──► events
//!  (kernel)             (mapped)                    in the order of time
//! ```
//!
//! With CAP_PERFMON the kernel writes the switches of all threads with both of their threads.
//! Without it, those of a process and its descendants: each record has one thread.

mod cpu;
mod events;
mod record;
mod ring;
mod sys;

use std::fs;
use std::io;

use self::cpu::{Cpu, CpuEvents};
use self::events::{Events, Timed};
use self::ring::Ring;
use self::sys::Target;
use super::backend::{Backend, Output, Progress};
use super::clock::TraceClock;
use super::error::{LiveError, PerfScope};
use super::processes;
use crate::page::Missed;

/// The CPUs that are online, such as `0-3,6`.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The switches of threads by `perf_event_open(2)`.
#[derive(Debug)]
pub(super) struct Perf {
    cpus: Vec<Cpu>,
    is_of_cpus: bool,
    scope: Vec<u64>,
    events: Events,
    waiting: Vec<Timed>,
    /// The start of the last round.
    last_end: u64,
}

impl Perf {
    /// Records the switches of all threads. Only those from and to the threads of `scope`, and
    /// those that these create, are used; all are if it is empty.
    pub(super) fn of_cpus(scope: &[u64], bytes: u64) -> Result<Self, LiveError> {
        Self::open(&[Target::Cpu], scope, bytes)
    }

    /// Records the switches of these threads, and of the threads and processes that they create.
    pub(super) fn of_threads(scope: &[u64], bytes: u64) -> Result<Self, LiveError> {
        let targets: Vec<Target> = scope.iter().copied().map(Target::Thread).collect();
        Self::open(&targets, scope, bytes)
    }

    fn open(targets: &[Target], scope: &[u64], bytes: u64) -> Result<Self, LiveError> {
        let is_of_cpus = targets == [Target::Cpu];
        let kind = if is_of_cpus { PerfScope::Machine } else { PerfScope::Threads };
        let cpus = cpus(targets, bytes).map_err(|error| LiveError::Perf(kind, error))?;
        let (scope, events) = (scope.to_vec(), Events::default());
        Ok(Self { cpus, is_of_cpus, scope, events, waiting: Vec::new(), last_end: 0 })
    }

    fn set_enabled(&self, is_enabled: bool) -> Result<(), String> {
        let results = self.cpus.iter().map(|cpu| cpu.set_enabled(is_enabled));
        // All CPUs are switched, also after an error.
        let results: Vec<io::Result<()>> = results.collect();
        results.into_iter().collect::<io::Result<()>>().map_err(|error| error.to_string())
    }
}

impl Backend for Perf {
    fn start(&mut self) -> Result<(), String> {
        self.events = Events::new(processes::names(), self.is_of_cpus, &self.scope);
        self.last_end = 0;
        self.set_enabled(true)
    }

    fn stop(&mut self) -> Result<(), String> {
        self.set_enabled(false)
    }

    /// Reads the ring buffers of all CPUs, whose sizes limit the memory.
    fn read(&mut self, clock: &TraceClock) -> Progress {
        let mut result = Ok(());
        for cpu in &mut self.cpus {
            if let Err(error) = cpu.read(clock, &mut self.waiting) {
                result = Err(format!("CPU {}: {error}", cpu.number()));
            }
        }
        Progress { rest: None, result }
    }

    /// The kernel takes the time of a record before it writes the record. Records of the time since
    /// the last round therefore wait for the next one.
    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let last = std::mem::replace(&mut self.last_end, end);
        let end = if end == u64::MAX { end } else { last };
        self.waiting.sort_by_key(|timed| timed.ticks);
        let number = self.waiting.partition_point(|timed| timed.ticks < end);
        let mut result = Ok(());
        for timed in self.waiting.drain(..number) {
            if let Some((missed, times)) = timed.loss() {
                result = result.and(output.missed(timed.cpu(), missed, times));
            }
            let Output { translator, sink, .. } = output;
            let written = self.events.push(&timed, |entry| translator.entry(sink, entry));
            result = result.and(written.map_err(|error| error.to_string()));
        }
        result
    }

    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let mut result = Ok(());
        for cpu in &mut self.cpus {
            let number = cpu.unreported_losses().map_err(|error| error.to_string())?;
            if number > 0 {
                let times = (cpu.last(), now);
                result = result.and(output.missed(cpu.number(), Missed::Count(number), times));
            }
        }
        result
    }

    fn discard(&mut self) -> u64 {
        std::mem::take(&mut self.waiting).len() as u64
    }
}

/// Opens the events and ring buffers of all CPUs.
fn cpus(targets: &[Target], bytes: u64) -> io::Result<Vec<Cpu>> {
    let online = fs::read_to_string(ONLINE).unwrap_or_else(|_| "0".to_owned());
    let opened = parse_cpus(&online).map(|number| CpuEvents::open(number, targets));
    // A CPU that has gone offline meanwhile has no switches.
    let is_online = |cpu: &io::Result<CpuEvents>| {
        !cpu.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
    };
    let events = opened.filter(is_online).collect::<io::Result<Vec<_>>>()?;
    let rings = Ring::map(events.iter().map(CpuEvents::first), bytes)?;
    events.into_iter().zip(rings).map(|(events, ring)| Cpu::new(events, ring)).collect()
}

/// Returns the numbers of a list such as `0-3,6`. Malformed parts are left out.
fn parse_cpus(list: &str) -> impl Iterator<Item = u16> + '_ {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        let parsed = |list: &str| parse_cpus(list).collect::<Vec<_>>();
        assert_eq!(parsed("0-3,6\n"), [0, 1, 2, 3, 6]);
        assert_eq!(parsed("0\n"), [0]);
        assert_eq!(parsed("x,2,-1,"), [2]);
    }
}
