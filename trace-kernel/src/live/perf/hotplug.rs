//! CPUs that come online during a recording.
//!
//! The kernel detaches the events of a whole CPU when the CPU goes offline, and does not attach
//! them when it returns. Events of threads stay with their threads.

use std::fs;
use std::io;

use super::cpu::{Cpu, CpuEvents};
use super::record::SampleLayout;
use super::ring::Ring;
use super::sys::{Attributes, Target};
use crate::live::clock::monotonic_raw;

/// The directory of lists of CPUs, such as `0-3,6`.
const CPUS: &str = "/sys/devices/system/cpu";

/// The CPUs that were online at the last look.
#[derive(Debug)]
pub(super) struct Online(Vec<u16>);

/// The CPUs that are online, and what opens the events of those that come online.
#[derive(Debug)]
pub(super) struct Hotplug {
    events: Vec<(Attributes, Target)>,
    layout: SampleLayout,
    bytes: u64,
    online: Online,
    /// The nanoseconds of `CLOCK_MONOTONIC_RAW` at the last look.
    last_look: u64,
}

impl Online {
    pub(super) fn new() -> Self {
        Self(online())
    }

    /// Returns the CPUs that have come online since the last look. If the list cannot be read, the
    /// last one is valid.
    pub(super) fn look(&mut self) -> Vec<u16> {
        listed("online").map_or_else(Vec::new, |online| self.note(online))
    }

    /// Notes the CPUs that are online. Returns those that were not.
    fn note(&mut self, online: Vec<u16>) -> Vec<u16> {
        let before = std::mem::replace(&mut self.0, online);
        self.0.iter().copied().filter(|cpu| !before.contains(cpu)).collect()
    }
}

impl Hotplug {
    pub(super) fn new(events: &[(Attributes, Target)], layout: SampleLayout, bytes: u64) -> Self {
        let (events, last_look) = (events.to_vec(), monotonic_raw());
        Self { events, layout, bytes, online: Online::new(), last_look }
    }

    /// Returns the CPUs that have events at the start. Those of threads are opened on the CPUs that
    /// are offline, too: threads that start later could not be added.
    pub(super) fn cpus(&self) -> Vec<u16> {
        match self.is_of_cpus() {
            true => self.online.0.clone(),
            false => listed("present").unwrap_or_else(|| self.online.0.clone()),
        }
    }

    pub(super) fn last_look(&self) -> u64 {
        self.last_look
    }

    /// Returns the CPUs that have come online since the last look, if the kernel has detached their
    /// events.
    pub(super) fn look(&mut self) -> Vec<u16> {
        if !self.is_of_cpus() {
            return Vec::new();
        }
        self.last_look = monotonic_raw();
        self.online.look()
    }

    /// The events of a CPU could not be opened: the next look returns it again.
    pub(super) fn retry(&mut self, cpu: u16) {
        self.online.0.retain(|online| *online != cpu);
    }

    /// Opens the events of a CPU, which are off.
    pub(super) fn open(&self, cpu: u16) -> io::Result<Cpu> {
        let events = CpuEvents::open(cpu, &self.events)?;
        let ring = Ring::map(std::iter::once(events.first()), self.bytes)?.pop();
        let ring = ring.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Cpu::new(events, ring, self.layout)
    }

    fn is_of_cpus(&self) -> bool {
        self.events.iter().any(|(_, target)| matches!(target, Target::Cpu | Target::Cgroup(_)))
    }
}

/// Returns whether events cannot be opened because their CPU is offline. It has no threads.
pub(super) fn is_offline(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENODEV)
}

/// Returns the CPUs that are online; the first one if the list cannot be read.
#[must_use]
pub fn online() -> Vec<u16> {
    listed("online").unwrap_or_else(|| vec![0])
}

/// Returns the CPUs of a list, `None` if it cannot be read.
fn listed(file: &str) -> Option<Vec<u16>> {
    let list = fs::read_to_string(format!("{CPUS}/{file}")).ok()?;
    Some(parse_cpus(&list).collect())
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

    fn of(target: Target) -> Hotplug {
        Hotplug::new(&[(Attributes::default(), target)], SampleLayout::default(), 0)
    }

    #[test]
    fn cpus_that_return_are_new() {
        let mut online = Online(vec![0, 1, 2]);
        assert!(online.note(vec![0, 2]).is_empty());
        assert_eq!(online.note(vec![0, 1, 2, 3]), [1, 3]);
        assert!(online.note(vec![0, 1, 2, 3]).is_empty());
    }

    #[test]
    fn cpus_without_events_are_tried_again() {
        let mut hotplug = of(Target::Cpu);
        assert!(hotplug.look().is_empty());
        hotplug.retry(0);
        assert_eq!(hotplug.look(), [0]);
    }

    #[test]
    fn events_of_threads_stay_with_them() {
        let mut hotplug = of(Target::Thread(1));
        hotplug.online.0.clear();
        assert!(hotplug.look().is_empty());
        assert_eq!(Some(hotplug.cpus()), listed("present"));
        assert_eq!(of(Target::Cpu).cpus(), online());
    }

    #[test]
    fn lists_of_cpus() {
        let parsed = |list: &str| parse_cpus(list).collect::<Vec<_>>();
        assert_eq!(parsed("0-3,6\n"), [0, 1, 2, 3, 6]);
        assert_eq!(parsed("0\n"), [0]);
        assert_eq!(parsed("x,2,-1,"), [2]);
    }
}
