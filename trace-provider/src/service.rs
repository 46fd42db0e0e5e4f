//! The service thread: all that a provider does, threads that write records do not.
//!
//! | module | subject |
//! |---|---|
//! | `running` | a provider from its start to its end |
//! | `thread` | the service thread |
//! | `status` | what the service thread and the rest of the process exchange |
//! | `config`, `environment` | choices of the program, and of the environment |
//! | `wait`, `backoff` | waiting for a manager to appear |
//! | `link` | a connection to a manager |
//! | `registration` | the message that registers a provider |
//! | `session` | a manager's session |
//! | `received` | checks of what a manager sends |
//! | `alert_sender` | sending alerts |
//! | `output`, `files` | tracing into a file without a manager |
//! | `active` | a buffer that is recorded into, and its rolling buffers' hand-over |
//! | `recording` | start and stop |
//! | `slots` | slots for the threads that write |

pub(crate) mod active;
pub(crate) mod alert_sender;
pub(crate) mod backoff;
pub(crate) mod config;
pub(crate) mod environment;
pub(crate) mod files;
pub(crate) mod link;
pub(crate) mod output;
pub(crate) mod received;
pub(crate) mod recording;
pub(crate) mod registration;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod slots;
pub(crate) mod status;
pub(crate) mod thread;
pub(crate) mod wait;

use std::sync::Arc;
use std::time::Duration;

use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;

use crate::engine::client::{Client, RecordClock};
use crate::engine::observers::Announcer;
use crate::engine::wake::WakeUps;
use crate::engine::Engine;
use crate::not_traced::NotTraced;
use crate::service::active::Active;
use crate::service::config::Config;
use crate::service::status::Shared;

/// The service thread's own.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) engine: &'static Engine,
    pub(crate) config: Config,
    pub(crate) clock: RecordClock,
    pub(crate) announcer: Announcer,
    pub(crate) wake_ups: WakeUps,
    pub(crate) shared: Arc<Shared>,
    /// Dropped last: it may hold the engine's lease.
    pub(crate) client: Box<dyn Client>,
}

impl Service {
    /// Makes `mapping` the buffer that is recorded into.
    pub(crate) fn record_into(&self, mapping: WriteMapping, layout: Layout) -> Option<Active<'_>> {
        Active::new(self.engine, &*self.client, &self.announcer, self.clock, mapping, layout)
    }

    /// Waits until this thread has been woken since this returned last, or for `timeout`, if there
    /// is one.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        self.wake_ups.wait(timeout);
    }

    /// Whether the provider is to end.
    pub(crate) fn is_quitting(&self) -> bool {
        self.shared.is_quitting()
    }

    /// Says that it is decided whether the first events are recorded.
    pub(crate) fn settle(&self) {
        self.shared.settle();
    }

    /// Keeps the reason why this process is not traced.
    pub(crate) fn report(&self, reason: NotTraced) {
        self.shared.report(reason);
    }

    /// Forgets the reason: the process is traced, or about to be.
    pub(crate) fn is_accepted(&self) {
        self.shared.forget_reason();
    }

    /// Keeps a message for the application.
    pub(crate) fn note(&self, message: String) {
        self.shared.note(message);
    }
}
