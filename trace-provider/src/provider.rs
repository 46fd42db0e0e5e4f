//! Providers that are values: several in a process, without trace points.

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
/// of its own. In a forked child it records nothing.
#[derive(Debug)]
pub struct Provider {
    /// `None` once it is dropped.
    running: Option<Running>,
    lease: Arc<Lease>,
    clock: RecordClock,
    about_machine: bool,
}

/// Chooses what a [`Provider`] is. What is not chosen comes from the environment, as for
/// applications.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `connect`"]
pub struct Builder {
    config: Config,
    clock: Option<ClockSource>,
    categories: Vec<CategoryInfo>,
    durable_bytes: usize,
}

/// Bytes of the durable buffer for strings, threads and names, unless the builder chooses another
/// number.
const DURABLE_BYTES: usize = 64 << 10;

impl Provider {
    /// Begins to build a provider with this name, of which at most 100 bytes count.
    pub fn builder(name: impl Into<String>) -> Builder {
        let config = Config { name: Some(name.into()), ..Config::from_environment() };
        Builder { config, clock: None, categories: Vec::new(), durable_bytes: DURABLE_BYTES }
    }

    /// Returns a writer. Its records are those of the calling thread, unless they say otherwise.
    #[must_use]
    pub fn writer(&self) -> Writer {
        Writer::new(Arc::clone(&self.lease), self.clock, self.about_machine)
    }

    /// Returns what tracing does now. Costs two loads.
    #[must_use]
    pub fn state(&self) -> TraceState {
        self.lease.engine.state()
    }

    /// Has `told` called when tracing starts, when it is about to stop, and when it has stopped,
    /// until the guard is dropped.
    ///
    /// It is called on a thread of its own. A session counts as started when all observers have
    /// returned, and records that are written before that are in the trace.
    pub fn observe(&self, told: impl Fn(TraceState) + Send + Sync + 'static) -> ProviderObserver {
        let observer = self.lease.engine.observe(told);
        ProviderObserver { _observer: observer, _lease: Arc::clone(&self.lease) }
    }

    /// Sends an alert to the manager, while anything is recorded. Returns whether it is going to be
    /// sent: its name has 1 to 14 bytes, and there are 64 different names at most.
    pub fn raise_alert(&self, name: &str) -> bool {
        self.lease.engine.raise_alert(name)
    }

    /// Returns the reason if this provider cannot be traced, and `Ok` if it is traced, or will be
    /// when a manager appears.
    ///
    /// # Errors
    /// [`NotTraced`] says what is missing, or who is refused.
    pub fn status(&self) -> Result<(), NotTraced> {
        self.running.as_ref().map_or(Ok(()), |running| running.status().get())
    }

    /// Takes the messages for the program's user, such as where the archive is.
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

/// Keeps a function called; see [`Provider::observe`].
#[derive(Debug)]
#[must_use = "the function is not called any more when this is dropped"]
pub struct ProviderObserver {
    _observer: Observer,
    _lease: Arc<Lease>,
}

impl Builder {
    /// Declares a category. One that is not declared can be recorded too; the manager does not list
    /// it.
    pub fn category(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let (name, description) = (name.into(), description.into());
        self.categories.push(CategoryInfo { name, description });
        self
    }

    /// Records no other categories than these, whatever a session asks for: names, `prefix*`, and
    /// `-name` or `-prefix*` to leave some out.
    pub fn categories<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.config.categories = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the socket of the manager.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.socket = path.into();
        self
    }

    /// Accepts a manager that runs as this user, beside root and the real user of this process.
    pub fn manager_uid(mut self, uid: u32) -> Self {
        self.config.manager_uid = Some(uid);
        self
    }

    /// Records into this file, without a manager.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.output = Some(path.into());
        self
    }

    /// With [`Builder::output`]: sets about how many bytes the buffer has.
    pub fn buffer_size(mut self, bytes: usize) -> Self {
        self.config.buffer_size = bytes;
        self
    }

    /// With [`Builder::output`]: sets what happens when the buffer is full.
    pub fn buffering_mode(mut self, mode: BufferingMode) -> Self {
        self.config.mode = mode;
        self
    }

    /// Sets the clock of the records' times. Without it, that is the CPU's counter if it has one
    /// rate on all cores, and else `CLOCK_BOOTTIME`.
    pub fn clock(mut self, source: ClockSource) -> Self {
        self.clock = Some(source);
        self
    }

    /// Sets about how many bytes of the durable buffer are needed for strings, threads and names.
    pub fn durable_bytes(mut self, bytes: usize) -> Self {
        self.durable_bytes = bytes;
        self
    }

    /// Lets records be about the whole machine: scheduling records can be written.
    ///
    /// A manager takes them, and the processes that records name, only from providers that its user
    /// has allowed that.
    pub fn about_machine(mut self) -> Self {
        self.config.about_machine = true;
        self
    }

    /// Makes this process a provider. If a manager answers, and a session is running, this returns
    /// when it has started; without a manager at once.
    ///
    /// # Errors
    /// If threads or memory are missing.
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
        // It waits for a limited time, for which the standard library reads the counter.
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

/// What the builder declares of a provider.
#[derive(Debug)]
struct Declared {
    clock: RecordClock,
    categories: Vec<CategoryInfo>,
    durable_bytes: usize,
    /// The service thread uses the engine, too.
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
