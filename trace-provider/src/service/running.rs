//! A provider from the start of its service thread to its end.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::client::Client;
use crate::engine::Engine;
use crate::generation::Generation;
use crate::not_traced::NotTraced;
use crate::service::config::Config;
use crate::service::status::Status;
use crate::service::thread;
use crate::sys;

/// The longest wait for a connected manager at the start of a provider, and for the service thread
/// of an application at its end.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest wait for the service thread of a provider about the machine, whose archive is
/// incomplete if it cannot say that it has stopped.
const MACHINE_PATIENCE: Duration = Duration::from_secs(10);

/// The longest wait, beyond these, for the service thread of a process that is traced with ptrace:
/// if it is stepped, one instruction takes as long as thousands.
const STEPPED_PATIENCE: Duration = Duration::from_secs(30);

/// A provider whose service thread runs.
#[derive(Debug)]
pub struct Running {
    engine: &'static Engine,
    generation: Generation,
    /// The longest wait for the end of the service thread. Not limited if it writes an archive,
    /// which depends on no other process.
    patience: Duration,
    status: Status,
}

impl Running {
    /// Starts the service thread, and waits until it is decided whether the first events are
    /// recorded.
    ///
    /// # Errors
    /// If the service thread cannot start: the reason, and the status, which has messages.
    pub fn start(
        engine: &'static Engine,
        client: Box<dyn Client>,
        config: Config,
    ) -> Result<Self, (NotTraced, Status)> {
        let status = Status::default();
        let (settling, patience) = match (&config.output, config.about_machine) {
            (Some(_), _) => (Duration::MAX, Duration::MAX),
            (None, true) => (PATIENCE, MACHINE_PATIENCE),
            (None, false) => (PATIENCE, PATIENCE),
        };
        config.messages.iter().for_each(|message| status.0.note(message.clone()));
        let shared = Arc::clone(&status.0);
        if let Err(error) = thread::spawn(engine, client, config, shared) {
            let reason = NotTraced::start(error);
            status.0.report(reason.clone());
            return Err((reason, status));
        }
        status.0.wait_until_settled(settling);
        Ok(Self { engine, generation: Generation::current(), patience, status })
    }

    /// Returns the generation of the process that started the provider. A forked child has a copy.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns the status of the provider.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Stops the provider. All committed records reach the archive.
    pub fn shut_down(self) -> Status {
        self.status.0.quit();
        self.engine.wake.wake();
        if !self.status.0.wait_until_ended(self.patience) && sys::is_ptraced() {
            self.status.0.wait_until_ended(STEPPED_PATIENCE);
        }
        self.status
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::mpsc::{channel, Receiver};
    use std::sync::Mutex;

    use trace_protocol::message::{CategoryInfo, ClockSource};

    use crate::engine::client::RecordClock;
    use crate::sys;

    use super::*;

    /// A client whose service thread does not end before the sender of `resume` is dropped.
    #[derive(Debug)]
    struct Hanging {
        resume: Mutex<Receiver<()>>,
    }

    impl Client for Hanging {
        fn prepare(&self) -> RecordClock {
            let _dropped = self.resume.lock().unwrap().recv();
            RecordClock { source: ClockSource::Boottime, ticks: || 1 }
        }

        fn categories(&self) -> Vec<CategoryInfo> {
            Vec::new()
        }

        fn durable_bytes(&self) -> usize {
            0
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no pages that are wiped on fork")]
    fn a_provider_is_refused_while_the_service_thread_of_an_earlier_one_runs() {
        let engine: &'static Engine =
            Box::leak(Box::new(Engine::new(sys::map_recorder().unwrap())));
        let start = || {
            let (resume, paused) = channel();
            let client = Box::new(Hanging { resume: Mutex::new(paused) });
            let socket = "/nonexistent/trace.sock".into();
            let config = Config { socket, output: None, ..Config::from_environment() };
            Running::start(engine, client, config).map(|running| (resume, running))
        };
        let (resume, running) = start().unwrap();
        let first = running.shut_down();
        let (reason, status) = start().unwrap_err();
        let NotTraced::Start(error) = &reason else { panic!("{reason}") };
        assert_eq!(error.kind(), ErrorKind::ResourceBusy);
        assert!(status.get().is_err() && first.get().is_ok());
        drop(resume);
        assert!(first.0.wait_until_ended(Duration::MAX));
        let (resume, running) = start().unwrap();
        drop(resume);
        running.shut_down();
    }
}
