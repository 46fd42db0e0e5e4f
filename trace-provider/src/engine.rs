//! What the threads that write records share with their provider's service thread.
//!
//! | module | subject |
//! |---|---|
//! | `access` | one recording, for who makes records by hand |
//! | `table` | strings and threads, and what else is in the durable buffer |
//! | `categories` | the categories that are recorded |
//! | `wake` | waking the service thread |
//! | `alert` | alerts that are to be sent |
//! | `observers` | functions that are called when tracing starts and stops |
//! | `client`, `turn` | what the service thread asks of the owner of trace points |
//! | `names` | the names that the kernel knows threads by |

pub(crate) mod access;
pub(crate) mod alert;
#[allow(unsafe_code)]
pub(crate) mod categories;
pub(crate) mod client;
pub(crate) mod names;
#[allow(unsafe_code)]
pub(crate) mod observers;
pub(crate) mod problem;
pub(crate) mod table;
pub(crate) mod turn;
pub(crate) mod wake;

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::MutexGuard;

use trace_format::layout::StringRef;
use trace_protocol::buffer::producer::Recorder;

use crate::engine::alert::NamedAlerts;
use crate::engine::categories::Categories;
use crate::engine::observers::{Observer, Observers};
use crate::engine::table::{LastRefs, Table};
use crate::engine::wake::WakeWord;
use crate::lock::ProcessLock;
use crate::TraceState;

/// The state of a provider that lives as long as the process: a static, or memory that is never
/// freed.
///
/// A provider is started on it, and another one when that has ended. What trace points read for
/// each record is in the recorder, which is the owner's: inlined code reaches a static fastest.
#[derive(Debug)]
pub struct Engine {
    pub(crate) recorder: &'static Recorder,
    pub(crate) wake: WakeWord,
    pub(crate) refs: LastRefs,
    pub(crate) categories: Categories,
    pub(crate) alerts: NamedAlerts,
    pub(crate) observers: Observers,
    /// The string table of the recording, `None` without a buffer.
    ///
    /// The service thread fills it when a session starts. Other threads may add to it while
    /// recording goes on; no trace point touches it.
    table: ProcessLock<Option<Table>>,
    /// The string ref of the key `process`, in the recording under way.
    process_key: AtomicU16,
}

impl Engine {
    /// An engine that records nothing yet.
    #[must_use]
    pub const fn new(recorder: &'static Recorder) -> Self {
        Self {
            recorder,
            wake: WakeWord::new(),
            refs: LastRefs::new(),
            categories: Categories::new(),
            alerts: NamedAlerts::new(),
            observers: Observers::new(),
            table: ProcessLock::new(),
            process_key: AtomicU16::new(0),
        }
    }

    /// Returns the string table, locked: `None` inside where there is no buffer.
    ///
    /// Waits for other threads that are in here, which takes them no longer than a pass over all
    /// trace points. Not for signal handlers.
    pub fn table(&'static self) -> MutexGuard<'static, Option<Table>> {
        self.table.lock()
    }

    /// Wakes the service thread on behalf of a traced thread, if that may make system calls. Works
    /// in signal handlers.
    pub fn notify(&self) {
        self.wake.notify();
    }

    /// Says whether traced threads may make no system call. The service thread then looks every
    /// tenth of a second by itself.
    pub fn set_silent(&self, silent: bool) {
        self.wake.set_silent(silent);
    }

    /// Whether `category` is being recorded.
    pub fn is_category_enabled(&self, category: &str) -> bool {
        self.recorder.is_recording() && self.categories.matches(category)
    }

    /// What tracing does now. Costs two loads.
    pub fn state(&self) -> TraceState {
        self.observers.state(self.recorder.is_recording())
    }

    /// Has `told` called when tracing starts, when it is about to stop, and when it has stopped,
    /// until the guard is dropped.
    pub fn observe(&'static self, told: impl Fn(TraceState) + Send + Sync + 'static) -> Observer {
        self.observers.observe(told)
    }

    /// Raises an alert whose name is known at run time only, while anything is recorded. Returns
    /// whether it is going to be sent.
    ///
    /// Works in signal handlers, takes no lock and allocates nothing.
    pub fn raise_alert(&self, name: &str) -> bool {
        self.recorder.is_recording() && self.alerts.raise(name, &self.wake)
    }

    /// Returns the string ref of the key `process`, in the recording under way.
    pub fn process_key(&self) -> StringRef {
        StringRef::from_bits(self.process_key.load(Ordering::Relaxed))
    }

    pub(crate) fn set_process_key(&self, key: StringRef) {
        self.process_key.store(key.bits(), Ordering::Relaxed);
    }

    /// Makes a forked child forget what its parent recorded, as far as it may only by stores. Also
    /// for a child that notices late.
    pub fn clear(&self) {
        self.recorder.forget();
        self.alerts.listen(false);
        self.alerts.forget();
        self.observers.forget();
    }
}
