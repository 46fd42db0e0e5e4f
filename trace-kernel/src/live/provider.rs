//! The provider of the kernel's events.

use std::sync::mpsc::{self, Sender, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use trace_protocol::counter;
use trace_protocol::message::ClockSource;
use trace_provider::{Provider, ProviderObserver, TraceState};

use super::categories::CATEGORIES;
use super::error::LiveError;
use super::options::Options;
use super::recorder::{Recorder, Request};
use super::scope::Limit;
use super::selection::kernel_patterns;
use super::sink::Tables;
use super::sources::{SourceReport, Sources};
use super::totals::{lock, Totals};

/// The bytes for strings and the names of threads in the provider's buffer.
const DURABLE_BYTES: usize = 1 << 20;

/// A provider of the kernel's events. Its buffer in the kernel is removed when this is dropped.
#[derive(Debug)]
pub struct KernelProvider {
    /// `None` after the drop, like `requests` and `thread`.
    observer: Option<ProviderObserver>,
    requests: Option<Sender<Request>>,
    /// Ends when all senders of requests are dropped.
    thread: Option<JoinHandle<()>>,
    provider: Provider,
    totals: Arc<Mutex<Totals>>,
    report: SourceReport,
}

impl KernelProvider {
    /// Creates a buffer in the kernel, and connects to the manager at `TRACE_SOCKET`. Returns when
    /// the session's recording has started.
    ///
    /// # Errors
    ///
    /// The kernel cannot be traced, or this process may not do it.
    pub fn start(options: &Options) -> Result<Self, LiveError> {
        let patterns = kernel_patterns(&options.categories);
        let source = clock_source();
        let Sources { list, report } = Sources::open(options, &patterns, source)?;
        let (totals, tables) = (Arc::default(), Tables::new(&patterns));
        let shared = Arc::clone(&totals);
        let recorder = Recorder::new(list, Limit::of(&options.scope)?, tables, shared);
        let mut provider = Self::connect(recorder, totals, source, &patterns)?;
        provider.report = report;
        Ok(provider)
    }

    fn connect(
        recorder: Recorder,
        totals: Arc<Mutex<Totals>>,
        source: ClockSource,
        patterns: &[String],
    ) -> Result<Self, LiveError> {
        let mut builder = Provider::builder("kernel").about_machine().clock(source);
        for category in CATEGORIES {
            builder = builder.category(category.name, category.description);
        }
        let builder = builder.categories(patterns.iter().cloned()).durable_bytes(DURABLE_BYTES);
        let provider = builder.connect().map_err(LiveError::Provider)?;
        let (requests, received) = mpsc::channel();
        let (send_writer, receive_writer) = mpsc::sync_channel(1);
        let run = move || {
            if let Ok(writer) = receive_writer.recv() {
                recorder.run(&received, writer);
            }
        };
        let named = thread::Builder::new().name("trace-kernel".to_owned());
        let thread = named.spawn(run).map_err(LiveError::Thread)?;
        // The thread waits for it.
        let _sent = send_writer.send(provider.writer());
        let to_observer = requests.clone();
        let observer = provider.observe(move |state| match state {
            TraceState::Started => send(&to_observer, Request::Start),
            TraceState::Stopping => send(&to_observer, Request::Stop),
            TraceState::Stopped => {}
        });
        // The recording may have started before there was an observer.
        if provider.state() == TraceState::Started {
            send(&requests, Request::Start);
        }
        let report = SourceReport::default();
        let (observer, requests, thread) = (Some(observer), Some(requests), Some(thread));
        Ok(Self { observer, requests, thread, provider, totals, report })
    }

    /// Returns why the provider is not traced, if so.
    ///
    /// # Errors
    ///
    /// The reason.
    pub fn status(&self) -> Result<(), LiveError> {
        self.provider.status().map_err(LiveError::Provider)
    }

    /// Returns the sources of the recording, and what it lacks.
    #[must_use]
    pub fn sources(&self) -> &SourceReport {
        &self.report
    }

    /// Writes the last records. Returns the totals of the recording.
    #[must_use]
    pub fn end(self) -> Totals {
        let totals = Arc::clone(&self.totals);
        drop(self);
        let totals = lock(&totals).clone();
        totals
    }

    /// Like [`end`](Self::end), if the session needs later events, too. The manager is not informed
    /// of the end, and reports in the archive that they are missing when this process has ended.
    #[must_use]
    pub fn end_early(mut self) -> Totals {
        self.stop();
        let totals = lock(&self.totals).clone();
        // Its connection ends with the process.
        std::mem::forget(self);
        totals
    }

    /// Writes the last records, and removes the buffer in the kernel.
    fn stop(&mut self) {
        if let Some(requests) = self.requests.take() {
            send(&requests, Request::Stop);
        }
        self.observer = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, its last records are missing.
            let _panicked = thread.join();
        }
    }
}

impl Drop for KernelProvider {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sends a request to the recorder and waits until it is done.
fn send(requests: &Sender<Request>, request: fn(SyncSender<()>) -> Request) {
    let (done, wait) = mpsc::sync_channel(0);
    if requests.send(request(done)).is_ok() {
        // Fails when the recorder drops the request.
        let _done = wait.recv();
    }
}

/// Returns the clock of this machine's providers.
fn clock_source() -> ClockSource {
    match counter::is_invariant() && !counter::is_forbidden() {
        true => ClockSource::CpuCounter,
        false => ClockSource::Boottime,
    }
}
