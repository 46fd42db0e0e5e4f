//! The service thread: all work of a provider but the writing of records.
//!
//! | module | subject |
//! |---|---|
//! | `running` | a provider from its start to its end |
//! | `thread` | the service thread |
//! | `status` | state that the service thread shares with the application |
//! | `config`, `environment` | options of the program and of the environment |
//! | `wait`, `backoff` | waiting for a manager |
//! | `link` | a connection to a manager |
//! | `registration` | the message that registers a provider |
//! | `session` | a manager's session |
//! | `received` | checks of a manager's messages |
//! | `alert_sender` | sending alerts |
//! | `output`, `files` | tracing into a file without a manager |
//! | `active` | the buffer of a recording, and the hand-over of its rolling buffers |
//! | `recording` | start and stop of a recording |
//! | `slots` | slots for writing threads |

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
pub(crate) mod tries;
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

/// The state of a service thread.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) engine: &'static Engine,
    pub(crate) config: Config,
    pub(crate) clock: RecordClock,
    pub(crate) announcer: Announcer,
    pub(crate) wake_ups: WakeUps,
    pub(crate) shared: Arc<Shared>,
    /// Dropped last, because it may have the engine's lease.
    pub(crate) client: Box<dyn Client>,
}

impl Service {
    /// Makes `mapping` the buffer of recordings. `None` if the recorder has a buffer.
    pub(crate) fn record_into(&self, mapping: WriteMapping, layout: Layout) -> Option<Active<'_>> {
        Active::new(self.engine, &*self.client, &self.announcer, self.clock, mapping, layout)
    }

    /// Waits until this thread is woken, or for `timeout`, if there is one. A wake-up since the
    /// last return counts.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        self.wake_ups.wait(timeout);
    }

    /// Returns whether the provider must end.
    pub(crate) fn is_quitting(&self) -> bool {
        self.shared.is_quitting()
    }

    /// Reports that it is decided whether the first events are recorded. Returns for how long the
    /// application has not waited any more, once.
    pub(crate) fn settle(&self) -> Option<Duration> {
        self.shared.settle()
    }

    /// Stores the reason why this process is not traced.
    pub(crate) fn report(&self, reason: NotTraced) {
        self.shared.report(reason);
    }

    /// Clears the reason, because a manager has accepted the process.
    pub(crate) fn report_acceptance(&self) {
        self.shared.clear_reason();
    }

    /// Stores a message for the application.
    pub(crate) fn note(&self, message: String) {
        self.shared.note(message);
    }
}
