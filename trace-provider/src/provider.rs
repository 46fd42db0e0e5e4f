//! Providers without trace points. A process may have several.

pub(crate) mod context;
pub(crate) mod lease;
pub(crate) mod reserved;
pub(crate) mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use trace_protocol::message::{CategoryInfo, ClockSource};
use trace_protocol::mode::BufferingMode;
use trace_protocol::{clock, counter};

use crate::engine::client::{Client, RecordClock};
use crate::engine::observers::Observer;
use crate::provider::lease::Lease;
use crate::provider::writer::Writer;
use crate::service::config::Config;
use crate::service::running::Running;
use crate::{NotTraced, TraceState};

/// A provider, until it is dropped.
///
/// A process may have several. Each has a connection to the manager, a buffer and a service thread
/// of its own. It does not record in a forked child.
#[derive(Debug)]
pub struct Provider {
    /// `None` after the drop.
    running: Option<Running>,
    lease: Arc<Lease>,
    clock: RecordClock,
    about_machine: bool,
}

/// The options of a [`Provider`]. The environment has the defaults, as for applications.
#[derive(Clone, Debug)]
#[must_use = "the process is not a provider before `connect`"]
pub struct Builder {
    config: Config,
    clock: Option<ClockSource>,
    categories: Vec<CategoryInfo>,
    durable_bytes: usize,
}

/// The default number of bytes for strings, threads and names in the durable buffer.
const DURABLE_BYTES: usize = 64 << 10;

impl Provider {
    /// Returns a builder for a provider with this name. At most 100 bytes of it are used.
    pub fn builder(name: impl Into<String>) -> Builder {
        let config = Config { name: Some(name.into()), ..Config::from_environment() };
        Builder { config, clock: None, categories: Vec::new(), durable_bytes: DURABLE_BYTES }
    }

    /// Returns a writer for the calling thread. A record may name another thread.
    #[must_use]
    pub fn writer(&self) -> Writer {
        Writer::new(Arc::clone(&self.lease), self.clock, self.about_machine)
    }

    /// Returns the state of tracing. Costs two loads.
    #[must_use]
    pub fn state(&self) -> TraceState {
        self.lease.engine.state()
    }

    /// Calls `observer` when tracing starts, when it is about to stop, and when it has stopped,
    /// until the guard is dropped.
    ///
    /// A separate thread calls it. A session has started when all observers have returned. Records
    /// that they write are in the trace.
    pub fn observe(
        &self,
        observer: impl Fn(TraceState) + Send + Sync + 'static,
    ) -> ProviderObserver {
        let observer = self.lease.engine.observe(observer);
        ProviderObserver { _observer: observer, _lease: Arc::clone(&self.lease) }
    }

    /// Sends an alert to the manager during a recording. Returns whether it will be sent. Its name
    /// has 1 to 14 bytes, and there are 64 different names at most.
    pub fn raise_alert(&self, name: &str) -> bool {
        self.lease.engine.raise_alert(name)
    }

    /// Returns `Ok` if this provider is traced, or will be when a manager appears.
    ///
    /// # Errors
    /// The reason why this provider is not traced.
    pub fn status(&self) -> Result<(), NotTraced> {
        self.running.as_ref().map_or(Ok(()), |running| running.status().get())
    }

    /// Takes the messages for the program's user, such as the path of the archive.
    #[must_use]
    pub fn take_messages(&self) -> Vec<String> {
        self.running.as_ref().map_or_else(Vec::new, |running| running.status().take_messages())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let running = self.running.take();
        // A forked child has no service thread.
        if let Some(running) = running.filter(|it| it.generation().is_current()) {
            counter::with(|| running.shut_down());
        }
    }
}

/// Keeps a function registered; see [`Provider::observe`].
#[derive(Debug)]
#[must_use = "the function is not called any more when this is dropped"]
pub struct ProviderObserver {
    _observer: Observer,
    _lease: Arc<Lease>,
}

impl Builder {
    /// Declares a category, so that the manager lists it. Others can also be recorded.
    pub fn category(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let (name, description) = (name.into(), description.into());
        self.categories.push(CategoryInfo { name, description });
        self
    }

    /// Allows only these categories, whatever a session requests: names, `prefix*`, and `-name` or
    /// `-prefix*` to exclude some.
    pub fn categories<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.config.categories = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the socket of the manager.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.set_socket(path.into());
        self
    }

    /// Also accepts a manager that runs as this user, beside root and the real user of this
    /// process.
    pub fn manager_uid(mut self, uid: u32) -> Self {
        self.config.manager_uid = Some(uid);
        self
    }

    /// Records into this file, without a manager.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.output = Some(path.into());
        self
    }

    /// With [`Builder::output`]: sets the approximate size of the buffer in bytes.
    pub fn buffer_size(mut self, bytes: usize) -> Self {
        self.config.buffer_size = bytes;
        self
    }

    /// With [`Builder::output`]: sets what happens when the buffer is full.
    pub fn buffering_mode(mut self, mode: BufferingMode) -> Self {
        self.config.mode = mode;
        self
    }

    /// Sets the clock of the records. The default is the CPU's counter if it has one rate on all
    /// cores, and else `CLOCK_BOOTTIME`.
    pub fn clock(mut self, source: ClockSource) -> Self {
        self.clock = Some(source);
        self
    }

    /// Sets the approximate number of bytes for strings, threads and names in the durable buffer.
    pub fn durable_bytes(mut self, bytes: usize) -> Self {
        self.durable_bytes = bytes;
        self
    }

    /// Permits records about the whole machine, such as scheduling records.
    ///
    /// A manager accepts them, and the processes that records name, only from providers that its
    /// user permits.
    pub fn about_machine(mut self) -> Self {
        self.config.about_machine = true;
        self
    }

    /// Makes this process a provider. If a manager has a session, this returns when the provider
    /// has started. Without a manager it returns at once.
    ///
    /// # Errors
    /// If the system has no threads or memory.
    pub fn connect(self) -> Result<Provider, NotTraced> {
        let lease = Lease::take().map_err(NotTraced::start)?;
        let clock = record_clock(self.clock.unwrap_or_else(preferred_clock));
        let about_machine = self.config.about_machine;
        let client = Declared {
            clock,
            categories: self.categories,
            durable_bytes: self.durable_bytes,
            _lease: Arc::clone(&lease),
        };
        let config = self.config.with_absolute_paths();
        // For the limited wait, the standard library reads the counter.
        match counter::with(|| Running::start(lease.engine, Box::new(client), config)) {
            Ok(running) => Ok(Provider { running: Some(running), lease, clock, about_machine }),
            Err((reason, _)) => Err(reason),
        }
    }
}

fn preferred_clock() -> ClockSource {
    match counter::is_invariant() && !counter::is_forbidden() {
        true => ClockSource::CpuCounter,
        false => ClockSource::Boottime,
    }
}

fn record_clock(source: ClockSource) -> RecordClock {
    let ticks: fn() -> u64 = match source {
        ClockSource::CpuCounter => || counter::read().unwrap_or_else(clock::boottime),
        ClockSource::Boottime => clock::boottime,
    };
    RecordClock { source, ticks }
}

/// The provider's declarations from the builder.
#[derive(Debug)]
struct Declared {
    clock: RecordClock,
    categories: Vec<CategoryInfo>,
    durable_bytes: usize,
    /// The service thread uses the engine.
    _lease: Arc<Lease>,
}

impl Client for Declared {
    fn prepare(&self) -> RecordClock {
        self.clock
    }

    fn categories(&self) -> Vec<CategoryInfo> {
        self.categories.clone()
    }

    fn durable_bytes(&self) -> usize {
        self.durable_bytes
    }
}
