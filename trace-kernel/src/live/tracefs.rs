//! The kernel's events by tracefs.

use std::fs::File;

use trace_protocol::message::ClockSource;

use super::backend::{Backend, Output, Progress};
use super::batch::{drain, Pages, Stream};
use super::clock::{self, TraceClock};
use super::error::LiveError;
use super::instance::{available_events, Instance};
use super::members::Group;
use super::options::Options;
use super::scope::Scope;
use super::selection::{Decoding, Selection, UsesById};
use super::served::{Lease, Leased, Server};
use super::setup::{check_thread_ids, open_pages, prepare, read_header, Prepared, HEADER_PAGE};
use super::translate::translate;
use super::uprobes::Uprobes;
use super::watch::Watch;
use crate::decode::Decoder;
use crate::format::page_layout;
use crate::ByteOrder;

/// The bytes of pages that a round reads, and at least a page of each CPU. Their records fit into
/// the free part of a buffer of a few MiB.
const MAX_ROUND_BYTES: usize = 64 << 10;

/// The pages of all CPUs of an instance.
#[derive(Debug)]
pub(super) struct Tracefs {
    streams: Vec<Stream>,
    /// Whether the last round has visited an event, or there was none.
    has_visited: bool,
    decoder: Decoder,
    uses: UsesById,
    /// The control group whose threads are recorded, if so.
    group: Option<Group>,
    /// The settings of the instance.
    watch: Option<Watch>,
    /// Whether this round compares the threads with the kernel's list.
    is_looking: bool,
    /// A change by another program before the end of the recording.
    changed: Result<(), String>,
    has_ids_of_proc: bool,
    /// Closed after its files.
    owner: Owner,
    /// The probes of functions, which are removed after the instance.
    _uprobes: Option<Uprobes>,
}

/// Who has the instance.
#[derive(Debug)]
enum Owner {
    /// This process.
    Own(Instance),
    /// The privileged helper.
    Helper(Lease),
}

impl Tracefs {
    /// Creates an instance with the selected events. Returns its clock, too.
    pub(super) fn open(
        options: &Options,
        patterns: &[String],
        source: ClockSource,
    ) -> Result<(Self, TraceClock), LiveError> {
        let ids = check_thread_ids();
        let has_ids_of_proc = ids.is_ok();
        if !matches!(options.scope, Scope::Machine) {
            ids?;
        }
        let instance = Instance::create(None)?;
        let Prepared { clock_name, clock, group } =
            prepare(&instance, source, options.buffer_size, &options.scope)?;
        let uprobes = Uprobes::define(&instance, patterns)?;
        let mut selection = Selection::new(patterns, &available_events()?)?;
        selection.add_probes(&uprobes);
        let opened = selection.enable(&instance).and_then(|events| {
            let (header, pages) = (read_header(&instance)?, open_pages(&instance)?);
            Self::new(Owner::Own(instance), &header, pages, events)
        });
        let watch = Some(Watch::new(clock_name, &selection.names()));
        // The instance uses the probes, and is removed before them.
        let tracefs = Self { group, watch, has_ids_of_proc, _uprobes: Some(uprobes), ..opened? };
        Ok((tracefs, clock))
    }

    /// Lets the privileged helper create an instance, with the selected events that it permits.
    pub(super) fn open_by_helper(
        server: &Server,
        options: &Options,
        patterns: &[String],
        source: ClockSource,
    ) -> Result<(Self, TraceClock), LiveError> {
        let threads = match &options.scope {
            Scope::Threads(_) | Scope::Command(_) => options.scope.threads()?,
            Scope::Machine | Scope::Cgroup(_) => return Err(LiveError::ServerScope),
        };
        check_thread_ids()?;
        if !server.exists() {
            return Err(LiveError::NoServer(server.clone()));
        }
        let lease = Lease::new(server)?;
        let selection = Selection::new(patterns, &lease.available)?;
        let request = (threads.as_slice(), selection.names());
        let Leased { header, formats, clock, pages } =
            lease.request(source, options.buffer_size, request)?;
        let (clock_name, clock) = clock::choose(&clock, source);
        let events = selection.decoding(&formats)?;
        let watch = Some(Watch::new(clock_name, &selection.names()));
        let opened = Self::new(Owner::Helper(lease), &header, pages, events)?;
        Ok((Self { watch, ..opened }, clock))
    }

    /// Reads pages of CPUs.
    fn new(
        owner: Owner,
        header: &str,
        pages: Vec<(u16, File)>,
        (decoder, uses): Decoding,
    ) -> Result<Self, LiveError> {
        let layout = page_layout(header, ByteOrder::NATIVE);
        let layout = layout.map_err(|error| LiveError::Format(HEADER_PAGE.into(), error))?;
        let streams =
            pages.into_iter().map(|(cpu, pages)| Stream::new(pages, cpu, layout)).collect();
        Ok(Self {
            streams,
            has_visited: true,
            decoder,
            uses,
            group: None,
            watch: None,
            is_looking: false,
            changed: Ok(()),
            has_ids_of_proc: true,
            owner,
            _uprobes: None,
        })
    }

    /// Reports a change of the instance by another program. The last look waits for the privileged
    /// helper.
    fn look(&self, is_last: bool) -> Result<(), String> {
        let Some(watch) = self.watch.as_ref().filter(|watch| watch.is_on()) else {
            return Ok(());
        };
        match &self.owner {
            Owner::Own(instance) => reported(watch.look(instance)),
            Owner::Helper(lease) if is_last => reported(lease.last_look()),
            Owner::Helper(lease) => reported(lease.look()),
        }
    }

    /// Reports a thread of the scope that another program has removed from the kernel's list.
    fn look_at_threads(&mut self, output: &Output<'_, '_>, is_last: bool) -> Result<(), String> {
        let (Owner::Own(instance), Some(watch)) = (&self.owner, &mut self.watch) else {
            return Ok(());
        };
        match output.translator.scope() {
            Some(scope) => reported(watch.look_at_threads(instance, scope, is_last)),
            None => Ok(()),
        }
    }

    fn switch(&self, is_on: bool) -> Result<(), String> {
        let switched = match &self.owner {
            Owner::Own(instance) => instance.switch(is_on),
            Owner::Helper(lease) => lease.switch(is_on),
        };
        switched.map_err(|error| describe(&error))
    }
}

/// Returns a change as an error.
fn reported<C: ToString>(look: Result<Option<C>, LiveError>) -> Result<(), String> {
    match look {
        Ok(None) => Ok(()),
        Ok(Some(change)) => Err(change.to_string()),
        Err(error) => Err(describe(&error)),
    }
}

/// Returns an error with its cause.
fn describe(error: &LiveError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

impl Backend for Tracefs {
    fn start(&mut self) -> Result<(), String> {
        if let Some(group) = &mut self.group {
            group.start();
        }
        self.switch(true)?;
        if let Some(watch) = &mut self.watch {
            watch.start();
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.has_visited = true;
        self.changed = self.look(true);
        if let Some(watch) = &mut self.watch {
            watch.stop();
        }
        self.switch(false)
    }

    /// Reads the pages of all CPUs. A CPU may have more of them than this reads.
    fn read(&mut self, clock: &TraceClock, now: u64) -> Progress {
        self.is_looking = self.watch.as_mut().is_some_and(Watch::is_due);
        let unchanged = if self.is_looking { self.look(false) } else { Ok(()) };
        let Self { streams, group, owner, has_visited, .. } = self;
        let limit = MAX_ROUND_BYTES / streams.len().max(1);
        let (mut has_more, mut has_read, mut result) = (false, false, Ok(()));
        match (owner, group) {
            (Owner::Own(instance), Some(group)) => result = group.update(instance, now),
            (Owner::Own(_), None) => {}
            (Owner::Helper(lease), _) => result = lease.check().map_err(|error| describe(&error)),
        }
        for stream in streams {
            match stream.read(limit, clock) {
                Ok(Pages { number, has_more: more }) => {
                    (has_more, has_read) = (has_more | more, has_read | (number > 0));
                }
                Err(error) => result = Err(format!("CPU {}: {error}", stream.cpu())),
            }
        }
        result = result.and(unchanged);
        // Without progress, all events are after now, and wait.
        Progress { has_more: has_more && (has_read || *has_visited), result }
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Self { streams, has_visited, decoder, uses, group, .. } = self;
        let mut result = Ok(());
        *has_visited = false;
        if let Some(group) = group {
            output.translator.include(group.joined());
        }
        let end = drain(streams, end, |event| {
            *has_visited = true;
            let members = group.as_mut().map(|group| &mut group.members);
            if let Err(error) = translate(output, (decoder, uses), members, &event) {
                result = Err(error);
            }
        });
        if let Some(group) = group {
            group.members.forget(end);
        }
        for stream in streams {
            if let Some(fault) = stream.take_fault() {
                result = Err(format!("CPU {}: {fault}", stream.cpu()));
            }
        }
        match std::mem::take(&mut self.is_looking) {
            true => result.and(self.look_at_threads(output, false)),
            false => result,
        }
    }

    fn finish(&mut self, now: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        let changed = std::mem::replace(&mut self.changed, Ok(()));
        let mut written = changed.and(self.look_at_threads(output, true));
        for stream in &self.streams {
            if let Some(loss) = stream.loss() {
                let missed = output.missed(stream.cpu(), loss.missed, (loss.since, now));
                written = written.and(missed);
            }
        }
        written
    }

    fn discard(&mut self) -> u64 {
        self.streams.iter_mut().map(Stream::discard).sum()
    }

    fn has_ids_of_proc(&self) -> bool {
        self.has_ids_of_proc
    }
}

#[cfg(test)]
mod replay;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

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
        let (header, pages) = (read_header(&instance).unwrap(), open_pages(&instance).unwrap());
        let (_, clock) = clock::choose("x86-tsc boot", ClockSource::CpuCounter);
        let events = (Decoder::new(ByteOrder::NATIVE, Vec::new()), UsesById::default());
        let tracefs = Box::new(Tracefs::new(Owner::Own(instance), &header, pages, events).unwrap());
        let (tables, totals) = (Tables::new(&[]), Arc::default());
        let mut destination = Destination { tables, totals, is_reported: false };
        let mut source = Source::new(tracefs, clock);
        // No manager is at this path.
        let provider = Provider::builder("kernel").socket(directory.path().join("none"));
        let mut writer = provider.connect().unwrap().writer();
        assert!(!source.round(&mut destination, &mut writer));
        assert_eq!(source.stop(&mut destination, &mut writer), 0);
    }
}
