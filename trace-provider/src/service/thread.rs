//! The service thread.
//!
//! It has its own file descriptor table ([`sys::own_table`]), so it calls no function of the
//! application.
//!
//! While there is no manager, it allocates and frees no memory: see `sys::threads`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use trace_protocol::{counter, slices};

use crate::engine::client::Client;
use crate::engine::observers::Announcer;
use crate::engine::wake::{Listener, WakeUps};
use crate::engine::Engine;
use crate::not_traced::NotTraced;
use crate::service::backoff::{Backoff, Outcome};
use crate::service::config::Config;
use crate::service::link::Link;
use crate::service::status::Shared;
use crate::service::wait::Found;
use crate::service::Service;
use crate::service::{output, slots, wait};
use crate::sys;

/// The time for which a process that writes its own archive waits for observers: as long as a
/// manager waits for the reply to Stop. With a manager, the manager decides.
const OBSERVER_PATIENCE: Duration = Duration::from_secs(5);

/// Prepares the engine for writing threads, and starts the service thread with every signal
/// blocked.
pub(crate) fn spawn(
    engine: &'static Engine,
    client: Box<dyn Client>,
    config: Config,
    shared: Arc<Shared>,
) -> io::Result<()> {
    // First, because an earlier service thread uses the engine until it has ended.
    let writes_archive = config.output.is_some();
    let patience = if writes_archive { OBSERVER_PATIENCE } else { Duration::MAX };
    let announcer = engine.observers.begin(patience, &engine.wake);
    let announcer = announcer.ok_or_else(earlier_has_not_ended)?;
    slots::prepare(engine.recorder, config.membarrier)?;
    let wake_ups = WakeUps::new(&engine.wake);
    let run = move || {
        // Dropped after the announcer, so that a new provider can start once the end is reported.
        let _ended = Ended(Arc::clone(&shared));
        run(engine, client, config, announcer, wake_ups, shared);
    };
    sys::keep_loaded();
    sys::without_signals(|| {
        if !writes_archive {
            // Without the preparation, the thread takes more address space.
            let _optional = sys::prepare_small_stack();
        }
        sys::spawn(c"trace-service", run)
    })
}

fn earlier_has_not_ended() -> io::Error {
    let reason = "the service thread of an earlier provider has not ended";
    io::Error::new(io::ErrorKind::ResourceBusy, reason)
}

fn run(
    engine: &'static Engine,
    client: Box<dyn Client>,
    config: Config,
    announcer: Announcer,
    wake_ups: WakeUps,
    shared: Arc<Shared>,
) {
    if let Err(error) = sys::own_table() {
        return shared.report(NotTraced::descriptors(error));
    }
    counter::allow();
    slices::ask_for_short();
    // Here, because it may open a file: the descriptor table is this thread's own.
    let clock = client.prepare();
    serve(&Service { engine, client, config, clock, announcer, wake_ups, shared });
}

/// Reports the end of the service thread when it is dropped.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn serve(service: &Service) {
    match &service.config.output {
        Some(path) => output::run(service, path),
        None => serve_managers(service),
    }
}

/// Serves managers until the provider ends.
fn serve_managers(service: &Service) {
    let word = &service.engine.wake;
    let served = Listener::with(word, |listener| serve_with(service, listener));
    if let Err(error) = served {
        service.report(NotTraced::start(error));
    }
}

/// Serves one manager after another. Waits without polling while there is none.
fn serve_with(service: &Service, listener: &Listener) {
    let (mut backoff, mut next) = (Backoff::default(), None);
    while !service.is_quitting() {
        let found = next.take().or_else(|| wait::for_manager(service, listener));
        let Some(found) = found else { return };
        let outcome = Link::new(service, listener, found).serve();
        service.settle();
        let wait = backoff.after(&outcome).filter(|_| !service.is_quitting());
        if let Outcome::Moved(socket) = outcome {
            next = Some(Found { socket, preferred: None });
        }
        if wait.is_some() {
            service.wait(wait);
        }
    }
}
