//! One source of the recorder.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use trace_provider::Writer;

use super::backend::{Backend, Output, Progress};
use super::clock::TraceClock;
use super::scope::Limit;
use super::sink::{ContextSink, Tables};
use super::totals::{lock, note_error, Totals};
use crate::fxt::{CallNames, Translator};

/// The longest time for which the last records wait until the manager has saved a part of the
/// buffer, which takes seconds on a busy machine. The process waits longer for the end of its
/// provider.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time between two looks at the space.
const STEP: Duration = Duration::from_millis(1);

/// A source of events, with its clock and the state of its records.
#[derive(Debug)]
pub(super) struct Source {
    backend: Box<dyn Backend>,
    clock: TraceClock,
    translator: Translator,
    /// Whether the last round left events behind.
    has_more: bool,
}

/// The destination of the records of all sources.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) tables: Tables,
    pub(super) totals: Arc<Mutex<Totals>>,
    /// Whether the recording has the first error.
    pub(super) is_reported: bool,
}

impl Source {
    pub(super) fn new(backend: Box<dyn Backend>, clock: TraceClock) -> Self {
        Self { backend, clock, translator: Translator::default(), has_more: false }
    }

    /// Starts recording. `threads` are those that `/proc` has, each with its process.
    pub(super) fn start(
        &mut self,
        limit: &Limit,
        threads: &[(u64, u64)],
        writer: &Writer,
    ) -> Result<(), String> {
        self.translator = Translator::default();
        self.translator.name_calls(CallNames::of_this_machine());
        limit.apply(&mut self.translator);
        let threads = if self.backend.has_ids_of_proc() { threads } else { &[] };
        for (thread, process) in threads {
            self.translator.process(*thread, *process);
        }
        self.clock.calibrate(|| writer.now());
        self.backend.start()
    }

    /// Stops recording and writes the last records. Returns the number of events without memory.
    pub(super) fn stop(&mut self, destination: &mut Destination, writer: &mut Writer) -> u64 {
        let stopped = self.backend.stop();
        let has_stopped = stopped.is_ok();
        destination.note(stopped);
        // If the kernel continues to write, its events may have no end.
        let mut can_wait = wait_for_space(writer);
        while self.round_until(Some(u64::MAX), destination, writer) && has_stopped {
            can_wait = can_wait && wait_for_space(writer);
        }
        self.clock.calibrate(|| writer.now());
        self.write(destination, writer, u64::MAX);
        self.finish(destination, writer);
        self.backend.discard()
    }

    /// Reads the events of all CPUs and writes those before this time. Returns whether there may be
    /// more.
    ///
    /// Without memory for records it reads nothing: the kernel's buffer is limited, and the kernel
    /// counts the events that it drops.
    pub(super) fn round(&mut self, destination: &mut Destination, writer: &mut Writer) -> bool {
        self.round_until(None, destination, writer)
    }

    /// A round that writes the events before `end`, or before now. Events after now are those of a
    /// clock that was set back.
    fn round_until(
        &mut self,
        end: Option<u64>,
        destination: &mut Destination,
        writer: &mut Writer,
    ) -> bool {
        if writer.context().is_none() {
            return false;
        }
        self.clock.calibrate(|| writer.now());
        let begin = writer.now();
        let Progress { has_more, result } = self.backend.read(&self.clock, begin);
        destination.note(result);
        self.write(destination, writer, end.unwrap_or(begin));
        self.has_more = has_more;
        self.has_more
    }

    /// Returns whether the last round left events behind.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Writes the records of the events before `end`.
    fn write(&mut self, destination: &mut Destination, writer: &mut Writer, end: u64) {
        self.output(destination, writer, |backend, output| backend.write(end, output));
    }

    /// Writes the events that have not ended, and those that are missing at the end.
    fn finish(&mut self, destination: &mut Destination, writer: &mut Writer) {
        let now = writer.now();
        self.output(destination, writer, |backend, output| {
            let written = output.translator.finish(&mut output.sink);
            let missed = backend.finish(now, output);
            written.map_err(|error| error.to_string()).and(missed)
        });
    }

    /// Calls `write` if the session has memory for records.
    fn output(
        &mut self,
        destination: &mut Destination,
        writer: &mut Writer,
        write: impl FnOnce(&mut dyn Backend, &mut Output<'_, '_>) -> Result<(), String>,
    ) {
        let Destination { tables, totals, is_reported } = destination;
        let Some(context) = writer.context() else { return };
        let sink = ContextSink::new(context, tables);
        let mut output = Output { translator: &mut self.translator, sink, totals };
        let written = write(&mut *self.backend, &mut output);
        note_error(totals, written);
        let mut totals = lock(totals);
        totals.scheduling += output.sink.scheduling;
        totals.samples += output.sink.samples;
        totals.logs += output.sink.logs;
        if let (Some(error), false) = (&totals.latest, *is_reported) {
            *is_reported = output.sink.failed(error);
        }
    }
}

/// Waits until the manager has saved a part of a full buffer. Returns whether it has: if not, the
/// next records are lost.
fn wait_for_space(writer: &Writer) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !writer.has_space() && Instant::now() < deadline {
        thread::sleep(STEP);
    }
    writer.has_space()
}

impl Destination {
    /// Keeps the first error for the user.
    pub(super) fn note(&self, result: Result<(), String>) {
        note_error(&self.totals, result);
    }
}
