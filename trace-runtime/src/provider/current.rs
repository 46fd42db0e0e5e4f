//! The provider of this process, while there are guards.

use trace_provider::{ProcessLock, Running, Status};

use crate::Clock;

/// The provider of this process.
pub(super) static CURRENT: ProcessLock<Option<Provider>> = ProcessLock::new();

/// A function of the application that takes messages of the tracer.
pub(super) type OnMessage = fn(&str);

/// A provider, and how many guards it has.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) running: Running,
    pub(super) guards: usize,
    pub(super) on_message: Option<OnMessage>,
    pub(super) clock: Clock,
}

impl Provider {
    /// Ends recording: what was recorded reaches the archive. Returns what has messages for the
    /// application.
    pub(super) fn shut_down(self) -> (Status, Option<OnMessage>) {
        let Self { running, on_message, clock, .. } = self;
        (clock.with_counter(|| running.shut_down()), on_message)
    }
}

/// Gives the application its messages. Called on a thread of the application, without locks.
pub(super) fn deliver(status: &Status, on_message: Option<OnMessage>) {
    let messages = status.take_messages();
    if let Some(on_message) = on_message {
        messages.iter().for_each(|message| on_message(message));
    }
}
