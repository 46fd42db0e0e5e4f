//! The state that writing threads share with their provider's service thread.
//!
//! | module | subject |
//! |---|---|
//! | `access` | access to one recording, to write encoded records |
//! | `table` | string table, thread table, and the other contents of the durable buffer |
//! | `categories` | selected categories |
//! | `wake` | waking the service thread |
//! | `alert` | raised alerts |
//! | `conditions` | conditions on durations, which trace points compare |
//! | `watches` | the conditions of a session, and their trace points |
//! | `observers` | callbacks for the start and stop of tracing |
//! | `client`, `turn` | interface to the owner of the trace points |
//! | `names` | the kernel's thread names |

pub(crate) mod access;
pub(crate) mod alert;
#[allow(unsafe_code)]
pub(crate) mod categories;
pub(crate) mod client;
pub(crate) mod conditions;
pub(crate) mod names;
#[allow(unsafe_code)]
pub(crate) mod observers;
pub(crate) mod problem;
pub(crate) mod table;
pub(crate) mod turn;
pub(crate) mod wake;
pub(crate) mod watches;

use std::sync::atomic::{AtomicU16, Ordering};

use trace_format::layout::StringRef;
use trace_protocol::buffer::producer::{Recorder, WatchedDuration};

use crate::engine::alert::NamedAlerts;
use crate::engine::categories::Categories;
use crate::engine::conditions::Conditions;
use crate::engine::observers::{Observer, Observers};
use crate::engine::table::{LastRefs, Table};
use crate::engine::wake::WakeWord;
use crate::lock::ProcessLock;
use crate::signal_lock::SignalGuard;
use crate::TraceState;

/// The state of a provider that lives as long as the process: a static, or memory that is never
/// freed.
///
/// One provider at a time uses it. The state that trace points read for each record is in the
/// recorder, which belongs to the owner: inlined code reaches a static fastest.
#[derive(Debug)]
pub struct Engine {
    pub(crate) recorder: &'static Recorder,
    pub(crate) wake: WakeWord,
    pub(crate) refs: LastRefs,
    pub(crate) categories: Categories,
    pub(crate) alerts: NamedAlerts,
    pub(crate) conditions: Conditions,
    pub(crate) observers: Observers,
    /// The string table of the recording, `None` without a buffer.
    ///
    /// The service thread fills it when a session starts. Other threads may add to it during the
    /// recording. No trace point uses it.
    table: ProcessLock<Option<Table>>,
    /// The string ref of the key `process` in the current recording.
    process_key: AtomicU16,
}

impl Engine {
    /// Returns an engine that does not record.
    #[must_use]
    pub const fn new(recorder: &'static Recorder) -> Self {
        Self {
            recorder,
            wake: WakeWord::new(),
            refs: LastRefs::new(),
            categories: Categories::new(),
            alerts: NamedAlerts::new(),
            conditions: Conditions::new(),
            observers: Observers::new(),
            table: ProcessLock::new(),
            process_key: AtomicU16::new(0),
        }
    }

    /// Locks the string table. It is `None` without a buffer.
    ///
    /// Other threads hold the lock for a pass over all trace points at most. Not for signal
    /// handlers.
    pub fn table(&'static self) -> SignalGuard<'static, Option<Table>> {
        self.table.lock()
    }

    /// Locks the string table, unless the caller is a signal handler that has interrupted a thread
    /// with a lock: [`SignalLock::lock_unless_nested`](crate::SignalLock::lock_unless_nested).
    pub fn table_unless_nested(&'static self) -> Option<SignalGuard<'static, Option<Table>>> {
        self.table.lock_unless_nested()
    }

    /// Wakes the service thread from a traced thread, if traced threads may make system calls.
    /// Works in signal handlers.
    pub fn notify(&self) {
        self.wake.notify();
    }

    /// Sets whether system calls are forbidden to traced threads. If they are, the service thread
    /// polls every tenth of a second.
    pub fn set_silent(&self, silent: bool) {
        self.wake.set_silent(silent);
    }

    /// Returns whether system calls are forbidden to traced threads.
    pub fn is_silent(&self) -> bool {
        self.wake.is_silent()
    }

    /// Returns whether `category` is recorded.
    pub fn is_category_enabled(&self, category: &str) -> bool {
        self.recorder.is_recording() && self.categories.matches(category)
    }

    /// Returns the state of tracing. Costs two loads.
    pub fn state(&self) -> TraceState {
        self.observers.state(self.recorder.is_recording())
    }

    /// Calls `observer` when tracing starts, when it is about to stop, and when it has stopped,
    /// until the guard is dropped.
    pub fn observe(
        &'static self,
        observer: impl Fn(TraceState) + Send + Sync + 'static,
    ) -> Observer {
        self.observers.observe(observer)
    }

    /// Raises an alert with a name of run time during a recording. Returns whether it will be sent.
    ///
    /// Works in signal handlers, takes no lock and does not allocate.
    pub fn raise_alert(&self, name: &str) -> bool {
        self.recorder.is_recording() && self.alerts.raise(name, &self.wake)
    }

    /// Compares a duration with the conditions of the session. Wakes the service thread if one
    /// holds.
    ///
    /// Works in signal handlers, takes no lock and does not allocate.
    #[inline]
    pub fn compare(&self, duration: WatchedDuration<'_>) {
        if self.conditions.compare(duration) {
            self.notify();
        }
    }

    /// Returns whether any scopes may be announced. Costs one load.
    #[inline]
    pub fn has_announced(&self) -> bool {
        self.conditions.has_announced()
    }

    /// Returns whether scopes with these refs of category and name, as in
    /// [`WatchedDuration::names`], are announced to a tracer of instructions.
    ///
    /// Works in signal handlers, takes no lock and does not allocate.
    pub fn announces(&self, names: u32) -> bool {
        self.conditions.announces(names)
    }

    /// Returns the string ref of the key `process` in the current recording.
    pub fn process_key(&self) -> StringRef {
        StringRef::from_bits(self.process_key.load(Ordering::Relaxed))
    }

    pub(crate) fn set_process_key(&self, key: StringRef) {
        self.process_key.store(key.bits(), Ordering::Relaxed);
    }

    /// Resets the state that a forked child has from its parent's recording. Only stores.
    pub fn clear(&self) {
        self.recorder.forget();
        self.alerts.listen(false);
        self.alerts.forget();
        self.conditions.forget();
        self.observers.forget();
    }
}
