//! Tracing into a file, without a manager.
//!
//! ```text
//! app.fxt.buffer    the mapped buffer, which survives the process
//! app.fxt.partial   the archive so far: its opening, and the saved rolling buffers (streaming)
//! app.fxt           the archive, after the provider has ended
//! ```
//!
//! An archive that is a device or a pipe is written as it grows. The buffer is then memory. It is
//! also memory if the file system cannot reserve its space, because a store to the mapped file
//! could then end the process: the file has only the buffer's header.
//!
//! With `TRACE_FORMAT=xray` the archive is a hidden file of a directory, and `trace recover` makes
//! a log of it.
//!
//! After a kill, `trace recover app.fxt` makes `app.fxt` from the first two. The buffer's header
//! has the valid length of the partial archive: a save that the kill interrupted is repeated.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use trace_protocol::archive::{self, ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::saved::SavedMark;
use trace_protocol::categories::CategorySet;
use trace_protocol::file::{hidden_own_archive, Placeholders};
use trace_protocol::words::as_bytes;

use crate::engine::categories::SelectedCategories;
use crate::not_traced::NotTraced;
use crate::service::active::{Active, NAMES_INTERVAL};
use crate::service::config::OutputFormat;
use crate::service::files::Files;
use crate::service::registration::{durable_hint, process_name};
use crate::service::Service;
use crate::sys;

/// Traces this process into `path`, a name with placeholders, until the provider ends.
pub(crate) fn run(service: &Service, path: &Path) {
    let (path, traced) = match archive_of(service, path) {
        Ok(path) => {
            let traced = trace_into(service, &path);
            (path, traced)
        }
        Err(error) => (path.to_owned(), Err(error)),
    };
    if let Err(error) = traced {
        service.report(NotTraced::Output { path, error: Arc::new(error) });
    }
    service.settle();
}

fn trace_into(service: &Service, path: &Path) -> io::Result<()> {
    let mut output = Output::create(service, path)?;
    output.record(service);
    output.finish()
}

/// Returns the path of the archive. With logs as the output, that is a hidden file in their
/// directory, which is created if it is missing.
fn archive_of(service: &Service, path: &Path) -> io::Result<PathBuf> {
    let format = service.config.format.clone();
    let format = format.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let path = expanded(path)?;
    if format == OutputFormat::Fxt {
        return Ok(path);
    }
    match fs::create_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let directory = path.display();
    service.note(format!("`trace recover {directory}` makes an XRay log of this process"));
    Ok(hidden_own_archive(&path, std::process::id(), SystemTime::now()))
}

/// Replaces the placeholders. A forked child has other values than its parent.
fn expanded(path: &Path) -> io::Result<PathBuf> {
    let (pid, program) = (std::process::id(), process_name());
    Placeholders { pid, program: program.as_ref(), time: SystemTime::now() }
        .expand(path)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

struct Output<'a> {
    files: Files,
    /// The length of the partial archive in bytes.
    length: u64,
    /// The byte offset of the ticks per second in the partial archive.
    rate_at: u64,
    first: ClockSample,
    identity: Identity,
    active: Active<'a>,
    collector: Collector,
    mark: SavedMark,
    words: Vec<u64>,
    /// The first error of a save. Nothing is saved after it.
    failed: Option<io::Error>,
}

impl<'a> Output<'a> {
    fn create(service: &'a Service, path: &Path) -> io::Result<Self> {
        let config = &service.config;
        let hint = usize::try_from(durable_hint(service)).unwrap_or(usize::MAX);
        let layout = Layout::plan(config.mode, config.buffer_size, hint)
            .ok_or(io::ErrorKind::InvalidInput)?
            .with_function_records(config.format == Ok(OutputFormat::Xray));
        let mut files = Files::find(path, &|message| service.note(message))?;
        let mapping = files.create_buffer(&layout, &|message| service.note(message))?;
        let process_name = process_name();
        let identity = Identity {
            id: 1,
            name: config.name.clone().unwrap_or_else(|| process_name.clone()),
            process_name,
            pid: std::process::id(),
            uid: sys::real_user(),
            clock: service.clock.source,
        };
        let policy = match config.about_machine {
            true => IdentityPolicy::Machine,
            false => IdentityPolicy::Own(u64::from(identity.pid)),
        };
        let collector =
            Collector::new(mapping.reader(), layout, policy).map_err(io::Error::other)?;
        let mut output = Self {
            files,
            length: 0,
            rate_at: 0,
            first: ClockSample::now(),
            identity,
            collector,
            mark: SavedMark::new(mapping.clone()),
            active: service.record_into(mapping, layout).ok_or(io::ErrorKind::ResourceBusy)?,
            words: Vec::new(),
            failed: None,
        };
        output.open(service)?;
        let selected = SelectedCategories::new(config.category_set(), CategorySet::default());
        service.engine.categories.select(&selected).map_err(io::Error::other)?;
        output.active.start(&selected, false);
        Ok(output)
    }

    /// Writes the records that precede those of the provider.
    fn open(&mut self, service: &Service) -> io::Result<()> {
        let start = ClockSample::now();
        let rate = start.rate_since(&self.first, self.identity.clock);
        let rate = rate
            .filter(|rate| *rate != 0)
            .unwrap_or(trace_format::layout::DEFAULT_TICKS_PER_SECOND);
        archive::magic(&mut self.words);
        let index = archive::opening(&mut self.words, &self.identity, rate, &self.first);
        self.rate_at = index as u64 * 8;
        self.append(0, service)
    }

    /// Saves rolling buffers, measures the clock and records thread names, until the provider ends.
    fn record(&mut self, service: &Service) {
        service.settle();
        while !service.is_quitting() {
            service.wait(Some(NAMES_INTERVAL));
            self.active.recycle();
            if self.active.mode() == BufferingMode::Streaming && self.failed.is_none() {
                self.failed = self.save(service).err();
            }
            self.active.serve_threads();
            let _kept = self.write_rate();
        }
    }

    fn save(&mut self, service: &Service) -> io::Result<()> {
        while let Some(wrapped_count) = self.active.next_full() {
            self.active.hand_over();
            self.collector.collect_durable(self.active.durable_end(), &mut self.words);
            let save = self.collector.copy_rolling(wrapped_count);
            self.collector.sanitize(save, &mut self.words);
            self.append(wrapped_count + 1, service)?;
            self.active.mark_saved(wrapped_count);
        }
        Ok(())
    }

    /// Appends `words` to the partial archive, which then has the wrapped counts before `saved`.
    fn append(&mut self, saved: u32, service: &Service) -> io::Result<()> {
        let bytes = as_bytes(&self.words);
        self.files.append(bytes, || service.is_quitting())?;
        self.length += bytes.len() as u64;
        self.words.clear();
        self.mark.set(saved, self.length);
        self.files.store(&self.mark)
    }

    /// Updates the ticks per second. A longer session has a smaller error.
    fn write_rate(&self) -> io::Result<()> {
        match ClockSample::now().rate_since(&self.first, self.identity.clock) {
            Some(rate) if rate != 0 => self.files.patch(&rate.to_le_bytes(), self.rate_at),
            _ => Ok(()),
        }
    }

    /// Completes the archive and renames it.
    fn finish(mut self) -> io::Result<()> {
        self.active.announce_stop()(None);
        self.active.stop();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.collector.finish(&mut self.words);
        let (now, clock) = (ClockSample::now(), self.identity.clock);
        let closing = Closing::of(&self.collector, 0, self.first.ticks(clock), now.ticks(clock));
        closing.write_now(&mut self.words, &self.identity, &now);
        self.files.append(as_bytes(&self.words), || true)?;
        self.write_rate()?;
        self.files.finish(self.collector.stats().is_empty())
    }
}
