//! The kernel's events by tracefs.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;

use rustix::fs::OFlags;
use trace_protocol::message::ClockSource;

use super::backend::{Backend, Output, Progress};
use super::batch::{Batch, BatchEvent, Stream};
use super::clock::{self, TraceClock};
use super::error::LiveError;
use super::instance::{available_events, Instance};
use super::members::{thread_list, Group, EVENT_PID};
use super::options::Options;
use super::scope::Scope;
use super::selection::{Selection, Uses};
use super::uprobes::{stack, stack_of_entry, ProbeUse, Uprobes};
use crate::decode::Decoder;
use crate::event::{Entry, Event};
use crate::format::page_layout;
use crate::page::PageLayout;
use crate::ByteOrder;

/// The file with the layout of pages.
const HEADER_PAGE: &str = "events/header_page";

/// The bytes of pages that a round reads, and at least a page of each CPU. Their records fit into
/// the free part of a buffer of a few MiB.
const MAX_ROUND_BYTES: usize = 16 << 10;

/// The inode of the kernel's first pid namespace: `PROC_PID_INIT_INO` of `linux/proc_ns.h`.
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// The pages of all CPUs of an instance.
#[derive(Debug)]
pub(super) struct Tracefs {
    layout: PageLayout,
    streams: Vec<Stream>,
    decoder: Decoder,
    uses: HashMap<u16, Uses>,
    batch: Batch,
    /// The control group whose threads are recorded, if so.
    group: Option<Group>,
    /// Closed after its files.
    instance: Instance,
    /// The probes of functions, which are removed after the instance.
    _uprobes: Option<Uprobes>,
}

impl Tracefs {
    /// Creates an instance with the selected events. Returns its clock, too.
    pub(super) fn open(
        options: &Options,
        patterns: &[String],
        source: ClockSource,
    ) -> Result<(Self, TraceClock), LiveError> {
        if !matches!(options.scope, Scope::Machine) {
            check_thread_ids()?;
        }
        let instance = Instance::create()?;
        let (name, clock) = clock::choose(&instance.read("trace_clock")?, source);
        instance.write("trace_clock", name)?;
        instance.write("buffer_size_kb", &(options.buffer_size >> 10).max(1).to_string())?;
        let group = select_threads(&instance, &options.scope)?;
        let uprobes = Uprobes::define(&instance, patterns)?;
        let mut selection = Selection::new(patterns, &available_events()?)?;
        selection.add_probes(&uprobes);
        let events = selection.enable(&instance);
        // The instance uses the probes, and is removed before them.
        let opened = events.and_then(|events| Self::new(instance, events));
        Ok((Self { group, _uprobes: Some(uprobes), ..opened? }, clock))
    }

    /// Opens the pages of all CPUs of an instance.
    fn new(
        instance: Instance,
        (decoder, uses): (Decoder, HashMap<u16, Uses>),
    ) -> Result<Self, LiveError> {
        let layout = page_layout(&instance.read(HEADER_PAGE)?, ByteOrder::NATIVE);
        let layout =
            layout.map_err(|error| LiveError::Format(instance.path(HEADER_PAGE), error))?;
        let streams = instance.cpus()?.into_iter().map(|cpu| {
            let path = instance.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let flags = OFlags::NONBLOCK.bits() as i32;
            let pages = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            Ok(Stream::new(pages.map_err(|error| LiveError::file(path, error))?, cpu))
        });
        let streams = streams.collect::<Result<_, _>>()?;
        let (batch, group, _uprobes) = Default::default();
        Ok(Self { layout, streams, decoder, uses, batch, group, instance, _uprobes })
    }

    fn switch(&self, is_on: bool) -> Result<(), String> {
        let text = if is_on { "1" } else { "0" };
        self.instance.write("tracing_on", text).map_err(|error| error.to_string())
    }
}

impl Backend for Tracefs {
    fn start(&mut self) -> Result<(), String> {
        self.switch(true)
    }

    fn stop(&mut self) -> Result<(), String> {
        self.switch(false)
    }

    /// Reads the pages of all CPUs. A CPU may have more of them than this reads.
    fn read(&mut self, clock: &TraceClock, now: u64) -> Progress {
        let Self { batch, layout, streams, group, instance, .. } = self;
        let limit = MAX_ROUND_BYTES / streams.len().max(1);
        let (mut rest, mut result) = (None, Ok(()));
        if let Some(group) = group {
            result = group.update(instance, now);
        }
        for stream in streams {
            let end = batch.bytes() + limit;
            loop {
                match batch.read(layout, stream, clock) {
                    Ok(true) if batch.bytes() < end => {}
                    Ok(true) => {
                        rest = Some(rest.map_or(stream.last(), |rest| stream.last().min(rest)));
                        break;
                    }
                    Ok(false) => break,
                    Err(error) => {
                        result = Err(format!("CPU {}: {error}", stream.cpu()));
                        break;
                    }
                }
            }
        }
        Progress { rest, result }
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Self { batch, decoder, uses, group, .. } = self;
        let mut result = Ok(());
        if let Some(group) = group {
            output.translator.include(group.joined());
        }
        batch.drain(end, |event| {
            if let Err(error) = translate(output, (decoder, uses), group.as_mut(), &event) {
                result = Err(error);
            }
        });
        if let Some(group) = group {
            group.members.forget(end);
        }
        result
    }

    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let mut written = Ok(());
        for stream in &self.streams {
            if let Some(loss) = stream.loss() {
                let missed = output.missed(stream.cpu(), loss.missed, (loss.since, now));
                written = written.and(missed);
            }
        }
        written
    }

    fn discard(&mut self) -> u64 {
        let mut discarded = 0;
        self.batch.drain(u64::MAX, |_| discarded += 1);
        discarded
    }
}

/// Selects the threads of a scope. Returns the control group that it is, if so.
fn select_threads(instance: &Instance, scope: &Scope) -> Result<Option<Group>, LiveError> {
    let (threads, group) = match scope {
        Scope::Machine => return Ok(None),
        Scope::Threads(threads) => (threads.clone(), None),
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

/// Writes the records of an event.
fn translate(
    output: &mut Output<'_, '_>,
    (decoder, uses): (&Decoder, &HashMap<u16, Uses>),
    group: Option<&mut Group>,
    event: &BatchEvent<'_>,
) -> Result<(), String> {
    if let Some(loss) = event.loss {
        output.missed(event.cpu, loss.missed, (loss.since, event.raw.time))?;
    }
    let Some(uses) = uses.get(&event.raw.id) else { return Ok(()) };
    if let Some(Group { members, .. }) = group {
        if !members.has(&decoder.decode(event.cpu, &event.raw)) {
            return Ok(());
        }
    }
    let Output { translator, sink, .. } = output;
    if let Some(probe) = &uses.probe {
        return translate_call(output, decoder, probe, event);
    }
    for category in &uses.categories {
        let fields = translator.fields(sink, &decoder.fields(event.cpu, &event.raw), category);
        fields.map_err(|error| error.to_string())?;
    }
    if !uses.is_decoded {
        return Ok(());
    }
    let entry: Entry<'_> = decoder.decode(event.cpu, &event.raw);
    match entry.event {
        // A field is missing, so the records of this event cannot be made.
        Event::Other { .. } => Ok(()),
        _ => translator.entry(sink, &entry).map_err(|error| error.to_string()),
    }
}

/// Writes the records of a call of a function, or of its return.
fn translate_call(
    output: &mut Output<'_, '_>,
    decoder: &Decoder,
    ProbeUse { probe, is_return }: &ProbeUse,
    event: &BatchEvent<'_>,
) -> Result<(), String> {
    let entry = decoder.fields(event.cpu, &event.raw);
    let labels = (probe.category.as_str(), probe.symbol.as_str());
    let Output { translator, sink, .. } = output;
    let written = match (probe.has_returns, is_return) {
        (false, _) => translator.call(sink, &entry, labels),
        (true, false) => translator.call_begin(sink, &entry, labels, stack(&entry)),
        (true, true) => translator.call_end(sink, &entry, labels, stack_of_entry(&entry)),
    };
    written.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use trace_provider::Provider;

    use super::super::sink::Tables;
    use super::super::source::{Destination, Source};
    use super::*;

    /// The kernel has empty pages without end.
    #[test]
    fn no_pages_are_read_without_a_session() {
        let directory = tempfile::tempdir().unwrap();
        let cpu = directory.path().join("per_cpu/cpu0");
        fs::create_dir_all(&cpu).unwrap();
        symlink("/dev/zero", cpu.join("trace_pipe_raw")).unwrap();
        fs::create_dir(directory.path().join("events")).unwrap();
        let layout = include_str!("../../tests/captured/header_page");
        fs::write(directory.path().join(HEADER_PAGE), layout).unwrap();
        let instance = Instance::of_directory(directory.path());
        let (_, clock) = clock::choose("x86-tsc boot", ClockSource::CpuCounter);
        let events = (Decoder::new(ByteOrder::NATIVE, Vec::new()), HashMap::new());
        let tracefs = Box::new(Tracefs::new(instance, events).unwrap());
        let (tables, totals) = (Tables::new(&[]), Arc::default());
        let mut destination = Destination { tables, totals };
        let mut source = Source::new(tracefs, clock);
        // No manager is at this path.
        let provider = Provider::builder("kernel").socket(directory.path().join("none"));
        let mut writer = provider.connect().unwrap().writer();
        assert!(!source.round(&mut destination, &mut writer));
        assert_eq!(source.stop(&mut destination, &mut writer), 0);
    }
}
