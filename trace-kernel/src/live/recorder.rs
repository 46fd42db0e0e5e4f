//! The thread that reads the kernel's events and writes records.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trace_provider::Writer;

use super::backend::{Backend, Output, Progress};
use super::clock::TraceClock;
use super::processes;
use super::sink::{ContextSink, Tables};
use super::totals::{lock, Totals};
use crate::fxt::Translator;

/// The time between two rounds.
const ROUND: Duration = Duration::from_millis(50);

/// A request to the thread. The sender waits until the other end of the channel is dropped.
#[derive(Debug)]
pub(super) enum Request {
    /// A recording has started.
    Start(SyncSender<()>),
    /// The recording is about to stop.
    Stop(SyncSender<()>),
}

/// Reads the kernel's events and writes records.
#[derive(Debug)]
pub(super) struct Recorder {
    backend: Box<dyn Backend>,
    clock: TraceClock,
    translator: Translator,
    /// The threads of the scope at its start; none for the machine.
    scope: Vec<u64>,
    tables: Tables,
    totals: Arc<Mutex<Totals>>,
}

impl Recorder {
    pub(super) fn new(
        backend: Box<dyn Backend>,
        scope: &[u64],
        clock: TraceClock,
        tables: Tables,
        totals: Arc<Mutex<Totals>>,
    ) -> Self {
        let translator = Translator::default();
        Self { backend, clock, translator, scope: scope.to_vec(), tables, totals }
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
        let started = self.backend.start();
        self.note(started);
    }

    fn stop(&mut self, writer: &mut Writer) {
        let stopped = self.backend.stop();
        let has_stopped = stopped.is_ok();
        self.note(stopped);
        // If the kernel continues to write, its events may have no end.
        while self.round(writer) && has_stopped {}
        self.clock.calibrate(|| writer.now());
        self.write(writer, u64::MAX);
        self.finish(writer);
        let discarded = self.discard();
        if discarded > 0 {
            self.note(Err(format!("the session had no memory for the last {discarded} events")));
        }
    }

    /// Reads the events of all CPUs and writes those before this time. Returns whether there may be
    /// more.
    ///
    /// Without memory for records it reads nothing: the kernel's buffer is limited, and the kernel
    /// counts the events that it drops.
    pub(super) fn round(&mut self, writer: &mut Writer) -> bool {
        if writer.context().is_none() {
            return false;
        }
        self.clock.calibrate(|| writer.now());
        let begin = writer.now();
        let Progress { rest, result } = self.backend.read(&self.clock);
        self.note(result);
        self.write(writer, rest.unwrap_or(begin).min(begin));
        rest.is_some()
    }

    /// Writes the records of the events before `end`.
    fn write(&mut self, writer: &mut Writer, end: u64) {
        self.output(writer, |backend, output| backend.write(end, output));
    }

    /// Writes the events that have not ended, and those that are missing at the end.
    fn finish(&mut self, writer: &mut Writer) {
        let now = writer.now();
        self.output(writer, |backend, output| {
            let written = output.translator.finish(&mut output.sink);
            let missed = backend.finish(now, output);
            written.map_err(|error| error.to_string()).and(missed)
        });
    }

    /// Calls `write` if the session has memory for records.
    fn output(
        &mut self,
        writer: &mut Writer,
        write: impl FnOnce(&mut dyn Backend, &mut Output<'_, '_>) -> Result<(), String>,
    ) {
        let Self { backend, tables, translator, totals, .. } = self;
        let Some(context) = writer.context() else { return };
        let sink = ContextSink::new(context, tables);
        let mut output = Output { translator, sink, totals };
        let written = write(&mut **backend, &mut output);
        lock(totals).scheduling += output.sink.scheduling;
        self.note(written);
    }

    /// Discards the events that had no memory until the end, so that no later recording has them.
    pub(super) fn discard(&mut self) -> u64 {
        self.backend.discard()
    }

    /// Keeps the first error for the user.
    fn note(&self, result: Result<(), String>) {
        if let Err(error) = result {
            lock(&self.totals).error.get_or_insert(error);
        }
    }
}
