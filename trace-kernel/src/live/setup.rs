//! The instance of a recording: its clock, size, threads and pages.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;

use rustix::fs::OFlags;
use trace_protocol::message::ClockSource;

use super::clock::{self, TraceClock};
use super::error::LiveError;
use super::instance::Instance;
use super::members::{thread_list, Group, EVENT_PID};
use super::scope::Scope;

/// The file with the layout of pages.
pub(super) const HEADER_PAGE: &str = "events/header_page";

/// The inode of the kernel's first pid namespace: `PROC_PID_INIT_INO` of `linux/proc_ns.h`.
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// An instance that is prepared for events.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The name of its clock.
    pub(super) clock_name: &'static str,
    pub(super) clock: TraceClock,
    /// The control group whose threads are recorded, if so.
    pub(super) group: Option<Group>,
}

/// Selects the clock, the size of buffers and the threads of an instance.
pub(super) fn prepare(
    instance: &Instance,
    source: ClockSource,
    buffer_size: u64,
    scope: &Scope,
) -> Result<Prepared, LiveError> {
    let (clock_name, clock) = clock::choose(&instance.read("trace_clock")?, source);
    instance.write("trace_clock", clock_name)?;
    instance.write("buffer_size_kb", &(buffer_size >> 10).max(1).to_string())?;
    let group = select_threads(instance, scope)?;
    Ok(Prepared { clock_name, clock, group })
}

/// Returns the layout of an instance's pages.
pub(super) fn read_header(instance: &Instance) -> Result<String, LiveError> {
    instance.read(HEADER_PAGE)
}

/// Opens the pages of each CPU of an instance. Reading does not wait for events.
pub(super) fn open_pages(instance: &Instance) -> Result<Vec<(u16, File)>, LiveError> {
    let pages = instance.cpus()?.into_iter().map(|cpu| {
        let path = instance.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = OFlags::NONBLOCK.bits() as i32;
        let pages = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        Ok((cpu, pages.map_err(|error| LiveError::file(path, error))?))
    });
    pages.collect()
}

/// Selects the threads of a scope. Returns the control group that it is, if so.
fn select_threads(instance: &Instance, scope: &Scope) -> Result<Option<Group>, LiveError> {
    let (threads, group) = match scope {
        Scope::Machine => return Ok(None),
        Scope::Threads(_) | Scope::Command(_) => (scope.threads()?, None),
        Scope::Cgroup(cgroup) => {
            let mut threads = scope.threads()?;
            let group = Group::new(Arc::clone(cgroup), &threads);
            // An empty list selects all threads. The events of this one are not the group's.
            threads.push(std::process::id().into());
            (threads, Some(group))
        }
    };
    instance.write("options/event-fork", "1")?;
    instance.write(EVENT_PID, &thread_list(&threads))?;
    Ok(group)
}

/// Fails if this process is not in the kernel's first pid namespace, whose thread ids the kernel
/// compares.
pub(super) fn check_thread_ids() -> Result<(), LiveError> {
    let namespace = fs::metadata("/proc/self/ns/pid").map(|namespace| namespace.ino());
    match namespace {
        Ok(FIRST_PID_NAMESPACE) => Ok(()),
        _ => Err(LiveError::PidNamespace),
    }
}
