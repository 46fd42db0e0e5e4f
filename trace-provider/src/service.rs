//! What the service thread has: all that a provider does, threads that write records do not.

use std::sync::Arc;
use std::time::Duration;

use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;

use crate::active::Active;
use crate::client::{Client, RecordClock};
use crate::config::Config;
use crate::engine::Engine;
use crate::not_traced::NotTraced;
use crate::observers::Announcer;
use crate::status::Shared;
use crate::wake::WakeUps;

/// The service thread's own.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) engine: &'static Engine,
    pub(crate) client: Box<dyn Client>,
    pub(crate) config: Config,
    pub(crate) clock: RecordClock,
    pub(crate) announcer: Announcer,
    pub(crate) wake_ups: WakeUps,
    pub(crate) shared: Arc<Shared>,
}

impl Service {
    /// Makes `mapping` the buffer that is recorded into.
    pub(crate) fn record_into(&self, mapping: WriteMapping, layout: Layout) -> Active<'_> {
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
