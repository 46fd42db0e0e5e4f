//! A provider from the start of its service thread to its end.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::client::Client;
use crate::engine::Engine;
use crate::not_traced::NotTraced;
use crate::service::config::Config;
use crate::service::status::Status;
use crate::service::thread;

/// How long the start waits for a manager that is there, and the end of a provider for its service
/// thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// A provider whose service thread runs.
#[derive(Debug)]
pub struct Running {
    engine: &'static Engine,
    process: u32,
    /// How long the end waits for the service thread; for ever where it writes an archive, which
    /// depends on no other process.
    patience: Duration,
    status: Status,
}

impl Running {
    /// Starts the service thread and waits until it is decided whether the first events are
    /// recorded.
    ///
    /// # Errors
    /// If there can be no provider, the reason, and the status, which has messages too.
    pub fn start(
        engine: &'static Engine,
        client: Box<dyn Client>,
        config: Config,
    ) -> Result<Self, (NotTraced, Status)> {
        let status = Status::default();
        let patience = if config.output.is_some() { Duration::MAX } else { PATIENCE };
        config.messages.iter().for_each(|message| status.0.note(message.clone()));
        let shared = Arc::clone(&status.0);
        if let Err(error) = thread::spawn(engine, client, config, shared) {
            let reason = NotTraced::start(error);
            status.0.report(reason.clone());
            return Err((reason, status));
        }
        status.0.wait_until_settled(patience);
        Ok(Self { engine, process: std::process::id(), patience, status })
    }

    /// Returns the process that started it. A forked child has only a copy.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns what came of it.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Ends recording: what was recorded reaches the archive.
    pub fn shut_down(self) -> Status {
        self.status.0.quit();
        self.engine.wake.wake();
        self.status.0.wait_until_ended(self.patience);
        self.status
    }
}
