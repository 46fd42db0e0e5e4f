//! The service thread: all that a provider does, threads that write records do not.
//!
//! It has a descriptor table of its own ([`sys::own_table`]), and so runs no function of the
//! application.

use std::io;
use std::sync::Arc;

use trace_protocol::{counter, slices};

use crate::engine::client::Client;
use crate::engine::observers::Announcer;
use crate::engine::wake::{Listener, WakeUps};
use crate::engine::Engine;
use crate::not_traced::NotTraced;
use crate::service::backoff::Backoff;
use crate::service::config::Config;
use crate::service::link::Link;
use crate::service::status::Shared;
use crate::service::Service;
use crate::service::{output, slots, wait};
use crate::sys;

/// Makes ready what the threads that write need, and starts the service thread with every signal
/// blocked.
pub(crate) fn spawn(
    engine: &'static Engine,
    client: Box<dyn Client>,
    config: Config,
    shared: Arc<Shared>,
) -> io::Result<()> {
    // Before all else: until the earlier service thread has ended, it uses the engine.
    let announcer = engine.observers.begin().ok_or_else(earlier_has_not_ended)?;
    slots::prepare(engine.recorder, config.membarrier)?;
    let wake_ups = WakeUps::new(&engine.wake);
    let run = move || {
        // Dropped after the announcer: a process that has seen the end can start a new provider.
        let _ended = Ended(Arc::clone(&shared));
        run(engine, client, config, announcer, wake_ups, shared);
    };
    sys::without_signals(|| sys::spawn("trace-service", run)).map(drop)
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
    // Here, since it may read a file, under a number that is this thread's own.
    let clock = client.prepare();
    serve(&Service { engine, client, config, clock, announcer, wake_ups, shared });
}

/// Says that the service thread has ended, when dropped.
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

/// Serves one manager after another, and waits without polling where there is none.
fn serve_managers(service: &Service) {
    let listener = match Listener::start(&service.engine.wake) {
        Ok(listener) => listener,
        Err(error) => return service.report(NotTraced::start(error)),
    };
    let mut backoff = Backoff::default();
    while !service.is_quitting() {
        let Some(socket) = wait::for_manager(service, &listener) else { return };
        let outcome = Link::new(service, &listener, socket).serve();
        service.settle();
        let wait = backoff.after(outcome).filter(|_| !service.is_quitting());
        if wait.is_some() {
            service.wait(wait);
        }
    }
}
