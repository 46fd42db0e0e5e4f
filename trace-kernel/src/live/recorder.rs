//! The thread that reads the kernel's pages and writes records.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::fs::OFlags;
use trace_format::WriteError;
use trace_provider::Writer;

use super::batch::{Batch, BatchEvent, Stream};
use super::clock::TraceClock;
use super::error::LiveError;
use super::instance::Instance;
use super::processes;
use super::selection::Uses;
use super::sink::{ContextSink, Tables};
use super::totals::{lock, note_loss, Totals};
use crate::decode::Decoder;
use crate::event::{Entry, Event};
use crate::format::page_layout;
use crate::fxt::{RecordSink, Translator};
use crate::page::PageLayout;
use crate::ByteOrder;

/// The file with the layout of pages.
const HEADER_PAGE: &str = "events/header_page";

/// The time between two rounds.
const ROUND: Duration = Duration::from_millis(50);

/// The most bytes of pages that a round reads, so that a busy kernel does not fill the memory.
const MAX_ROUND_BYTES: usize = 16 << 20;

/// A request to the thread. The sender waits until the other end of the channel is dropped.
#[derive(Debug)]
pub(super) enum Request {
    /// A recording has started.
    Start(SyncSender<()>),
    /// The recording is about to stop.
    Stop(SyncSender<()>),
}

/// Reads the kernel's pages and writes records.
#[derive(Debug)]
pub(super) struct Recorder {
    layout: PageLayout,
    streams: Vec<Stream>,
    clock: TraceClock,
    decoder: Decoder,
    uses: HashMap<u16, Uses>,
    batch: Batch,
    translator: Translator,
    /// The threads of the scope at its start; none for the machine.
    scope: Vec<u64>,
    tables: Tables,
    totals: Arc<Mutex<Totals>>,
    /// Closed after its files.
    instance: Instance,
}

impl Recorder {
    /// Opens the pages of all CPUs of an instance.
    pub(super) fn new(
        (instance, scope): (Instance, &[u64]),
        (decoder, uses): (Decoder, HashMap<u16, Uses>),
        clock: TraceClock,
        tables: Tables,
        totals: Arc<Mutex<Totals>>,
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
        let (batch, translator) = (Batch::default(), Translator::default());
        Ok(Self {
            layout,
            streams,
            clock,
            decoder,
            uses,
            batch,
            translator,
            scope: scope.to_vec(),
            tables,
            totals,
            instance,
        })
    }

    /// Serves requests until their sender is dropped.
    pub(super) fn run(mut self, requests: &Receiver<Request>, mut writer: Writer) {
        let (mut is_recording, mut has_more) = (false, false);
        loop {
            // Requests are served between two rounds, also if the kernel writes faster.
            let wait = if has_more { Duration::ZERO } else { ROUND };
            let request = match is_recording {
                true => requests.recv_timeout(wait),
                false => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match request {
                Ok(Request::Start(_done)) => {
                    if !std::mem::replace(&mut is_recording, true) {
                        self.start(&writer);
                    }
                }
                Ok(Request::Stop(_done)) => {
                    if std::mem::replace(&mut is_recording, false) {
                        self.stop(&mut writer);
                    }
                }
                Err(RecvTimeoutError::Timeout) => has_more = self.round(&mut writer),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn start(&mut self, writer: &Writer) {
        self.tables.clear();
        self.translator = Translator::default();
        if !self.scope.is_empty() {
            self.translator.limit(self.scope.iter().copied());
        }
        for (thread, process) in processes::threads() {
            self.translator.process(thread, process);
        }
        self.clock.calibrate(|| writer.now());
        let started = self.instance.write("tracing_on", "1");
        self.note(started.map_err(|error| error.to_string()));
    }

    fn stop(&mut self, writer: &mut Writer) {
        let stopped = self.instance.write("tracing_on", "0");
        let has_stopped = stopped.is_ok();
        self.note(stopped.map_err(|error| error.to_string()));
        // If the kernel continues to write, its pages may have no end.
        while self.round(writer) && has_stopped {}
        self.clock.calibrate(|| writer.now());
        self.write(writer, u64::MAX);
        self.finish(writer);
        self.discard();
    }

    /// Reads the pages of all CPUs and writes the events before this time. Returns whether there
    /// may be more pages.
    ///
    /// Without memory for records it reads nothing: the kernel's buffer is limited, and the kernel
    /// counts the events that it drops.
    fn round(&mut self, writer: &mut Writer) -> bool {
        if writer.context().is_none() {
            return false;
        }
        self.clock.calibrate(|| writer.now());
        let begin = writer.now();
        let rest = self.read_pages();
        self.write(writer, rest.unwrap_or(begin).min(begin));
        rest.is_some()
    }

    /// Reads the pages of all CPUs. If a CPU has more of them than a round may read, returns the
    /// time before which its events have been read.
    fn read_pages(&mut self) -> Option<u64> {
        let Self { batch, layout, streams, clock, .. } = self;
        let limit = MAX_ROUND_BYTES / streams.len().max(1);
        let (mut rest, mut failed) = (None, Ok(()));
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
                        failed = Err(format!("CPU {}: {error}", stream.cpu()));
                        break;
                    }
                }
            }
        }
        self.note(failed);
        rest
    }

    /// Writes the records of the events before `end`.
    fn write(&mut self, writer: &mut Writer, end: u64) {
        let Self { batch, tables, translator, decoder, uses, totals, .. } = self;
        let Some(context) = writer.context() else { return };
        let mut sink = ContextSink::new(context, tables);
        let mut failed = Ok(());
        batch.drain(end, |event| {
            let written = translate(translator, &mut sink, (decoder, uses, totals), &event);
            if let Err(error) = written {
                failed = Err(error.to_string());
            }
        });
        lock(totals).scheduling += sink.scheduling;
        self.note(failed);
    }

    /// Writes the events that have not ended, and those that are missing at the end.
    fn finish(&mut self, writer: &mut Writer) {
        let now = writer.now();
        let Self { translator, tables, streams, totals, .. } = self;
        let Some(context) = writer.context() else { return };
        let mut sink = ContextSink::new(context, tables);
        let mut written = translator.finish(&mut sink);
        for stream in streams {
            if let Some(loss) = stream.loss() {
                note_loss(totals, loss.missed);
                let times = (loss.since, now);
                let missed = translator.missed(&mut sink, stream.cpu(), loss.missed, times);
                written = written.and(missed);
            }
        }
        self.note(written.map_err(|error| error.to_string()));
    }

    /// Discards the events that had no memory until the end, so that no later recording has them.
    fn discard(&mut self) {
        let mut discarded = 0_u64;
        self.batch.drain(u64::MAX, |_| discarded += 1);
        if discarded > 0 {
            self.note(Err(format!("the session had no memory for the last {discarded} events")));
        }
    }

    /// Keeps the first error for the user.
    fn note(&self, result: Result<(), String>) {
        if let Err(error) = result {
            lock(&self.totals).error.get_or_insert(error);
        }
    }
}

/// Writes the records of an event.
fn translate(
    translator: &mut Translator,
    sink: &mut impl RecordSink,
    (decoder, uses, totals): (&Decoder, &HashMap<u16, Uses>, &Mutex<Totals>),
    event: &BatchEvent<'_>,
) -> Result<(), WriteError> {
    if let Some(loss) = event.loss {
        note_loss(totals, loss.missed);
        translator.missed(sink, event.cpu, loss.missed, (loss.since, event.raw.time))?;
    }
    let Some(uses) = uses.get(&event.raw.id) else { return Ok(()) };
    for category in &uses.categories {
        translator.fields(sink, &decoder.fields(event.cpu, &event.raw), category)?;
    }
    if !uses.is_decoded {
        return Ok(());
    }
    let entry: Entry<'_> = decoder.decode(event.cpu, &event.raw);
    match entry.event {
        // A field is missing, so the records of this event cannot be made.
        Event::Other { .. } => Ok(()),
        _ => translator.entry(sink, &entry),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use trace_protocol::message::ClockSource;
    use trace_provider::Provider;

    use super::super::clock;
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
        let tables = Tables::new(&[]);
        let recorder = Recorder::new((instance, &[]), events, clock, tables, Arc::default());
        let mut recorder = recorder.unwrap();
        // No manager is at this path.
        let provider = Provider::builder("kernel").socket(directory.path().join("none"));
        let mut writer = provider.connect().unwrap().writer();
        assert!(!recorder.round(&mut writer));
        assert_eq!(recorder.batch.bytes(), 0);
    }
}
