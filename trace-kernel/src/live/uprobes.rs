//! Events of functions of programs and libraries: uprobes.
//!
//! The kernel has one list of them for all users of tracefs, `uprobe_events`. Ours are in a group
//! with the name of the instance, so that those of a killed process can be removed later, and
//! nobody else's. They have a file descriptor as their file: it is the file whose symbols were
//! read, and its path may have any letters.

mod error;
mod pattern;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{ProbeError, ProbeFault};
pub(super) use pattern::Probe;
pub use pattern::{check_probe, CALL_PREFIX, ENTRY_PREFIX};

use super::error::LiveError;
use super::instance::{is_stale, root, Instance};
use crate::event::{Entry, Event};
use crate::format::Value;

/// The file with the kernel's list.
const EVENTS: &str = "uprobe_events";

/// The register with the address of the stack: at the entry, and how much higher it is after the
/// return.
#[cfg(target_arch = "x86_64")]
const STACK: Option<(&str, u64)> = Some(("%sp", 8));
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const STACK: Option<(&str, u64)> = Some(("%sp", 0));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const STACK: Option<(&str, u64)> = None;

/// The field of an event with the address of the stack.
const STACK_FIELD: &str = "sp";

/// The probes of an instance, which are removed when this is dropped: after the instance, which
/// uses them.
#[derive(Debug)]
pub(super) struct Uprobes {
    list: PathBuf,
    group: String,
    events: Vec<ProbeEvent>,
}

/// An event of a probe: one place of its function, or its return to the caller.
#[derive(Debug)]
pub(super) struct ProbeEvent {
    /// Its system and its name.
    pub(super) name: String,
    pub(super) used: ProbeUse,
}

/// The records of an event of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProbeUse {
    pub(super) probe: Arc<Probe>,
    pub(super) is_return: bool,
}

impl Uprobes {
    /// Adds the probes of category patterns to the kernel's list. Removes those of processes that
    /// have been killed.
    pub(super) fn define(instance: &Instance, patterns: &[String]) -> Result<Self, LiveError> {
        let probes = Probe::of_patterns(patterns)?;
        let root = root()?;
        remove_stale(root, is_stale);
        let list = root.join(EVENTS);
        let group = instance.name().replace('-', "_");
        let mut uprobes = Self { list, group, events: Vec::new() };
        for probe in probes {
            uprobes.add(&probe).map_err(|fault| LiveError::Probe(probe.error(fault)))?;
        }
        Ok(uprobes)
    }

    pub(super) fn events(&self) -> &[ProbeEvent] {
        &self.events
    }

    /// Adds the events of a probe.
    fn add(&mut self, probe: &Arc<Probe>) -> Result<(), ProbeFault> {
        let (file, offsets) = probe.resolve()?;
        for offset in offsets {
            self.add_event(probe, &file, offset, false)?;
            if probe.has_returns {
                self.add_event(probe, &file, offset, true)?;
            }
        }
        Ok(())
    }

    fn add_event(
        &mut self,
        probe: &Arc<Probe>,
        file: &File,
        offset: u64,
        is_return: bool,
    ) -> Result<(), ProbeFault> {
        let kind = if is_return { 'r' } else { 'p' };
        let name = format!("{}/{kind}{}", self.group, self.events.len());
        let stack = STACK.filter(|_| probe.has_returns).map(|(register, _)| register);
        let stack = stack.map(|register| format!(" {STACK_FIELD}={register}"));
        let (file, stack) = (file.as_raw_fd(), stack.unwrap_or_default());
        let line = format!("{kind}:{name} /proc/self/fd/{file}:{offset:#x}{stack}\n");
        append(&self.list, &line).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ProbeFault::NoSupport,
            _ => ProbeFault::Refused(error),
        })?;
        let used = ProbeUse { probe: Arc::clone(probe), is_return };
        self.events.push(ProbeEvent { name, used });
        Ok(())
    }
}

impl Drop for Uprobes {
    fn drop(&mut self) {
        for event in &self.events {
            // Fails if another process uses it, too.
            let _busy = append(&self.list, &format!("-:{}\n", event.name));
        }
    }
}

/// Returns the address of the stack that an event has.
pub(super) fn stack(entry: &Entry<'_>) -> Option<u64> {
    let Event::Other { format, payload, order } = entry.event else { return None };
    match format.field(STACK_FIELD)?.value(payload, order)? {
        Value::Unsigned(stack) | Value::Pointer(stack) => Some(stack),
        _ => None,
    }
}

/// Returns the address of the stack at the entry of a call, of the event of its return.
pub(super) fn stack_of_entry(entry: &Entry<'_>) -> Option<u64> {
    let (_, higher) = STACK?;
    stack(entry)?.checked_sub(higher)
}

/// Removes the probes of groups that `is_stale`.
fn remove_stale(root: &Path, is_stale: impl Fn(&str) -> bool) {
    let list = root.join(EVENTS);
    let Ok(events) = fs::read(&list) else { return };
    for line in String::from_utf8_lossy(&events).lines() {
        let Some(name) = name_of(line) else { continue };
        let group = name.split('/').next().unwrap_or_default();
        if is_stale(&group.replace('_', "-")) {
            let _busy = append(&list, &format!("-:{name}\n"));
        }
    }
}

/// Returns the system and the name of an event, of a line such as `p:SYSTEM/NAME FILE:OFFSET`.
fn name_of(line: &str) -> Option<&str> {
    let (kind, rest) = line.split_once(':')?;
    let name = rest.split_whitespace().next()?;
    (matches!(kind.as_bytes().first(), Some(b'p' | b'r')) && name.contains('/')).then_some(name)
}

/// Appends a line to the list. To truncate it would remove the probes of all users.
fn append(list: &Path, line: &str) -> io::Result<()> {
    let mut list = fs::OpenOptions::new().append(true).open(list)?;
    list.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_probes_of_ended_processes_are_stale() {
        let root = tempfile::tempdir().unwrap();
        let lines = "p:trace_1_2_3_0/p0 /proc/self/fd/5:0x10 sp=%sp\n\
            r:trace_1_2_3_0/r1 /proc/self/fd/5:0x10 sp=%sp\n\
            p:probe_app/main /bin/app:0x10\np:uprobes/trace_1_2_3_0 /bin/app:0x10\n";
        let list = root.path().join(EVENTS);
        fs::write(&list, lines).unwrap();
        remove_stale(root.path(), |group| group == "trace-1-2-3-0");
        let removed = fs::read_to_string(&list).unwrap();
        assert_eq!(&removed[lines.len()..], "-:trace_1_2_3_0/p0\n-:trace_1_2_3_0/r1\n");
    }

    #[test]
    fn names_in_the_list() {
        assert_eq!(name_of("p:a/b /x:0x10"), Some("a/b"));
        assert_eq!(name_of("r10:a/b /x:0x10"), Some("a/b"));
        for line in ["", "p", "p:", "p:a /x", "x:a/b /x:0x10"] {
            assert_eq!(name_of(line), None, "{line}");
        }
    }
}
