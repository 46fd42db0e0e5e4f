//! The sessions of the configuration, which the daemon starts itself.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;

use anyhow::{Context, Result};
use rustix::process::geteuid;
use trace_manager::controller::{Controller, SessionInfo, SessionState};
use trace_manager::ControlServer;

use crate::cli::StartArgs;
use crate::commands::start;
use crate::message::describe;

/// Starts sessions on a thread: a session waits for its programs, and signals do not.
#[derive(Debug)]
pub(super) struct ConfiguredSessions(Sender<(Controller, Vec<StartArgs>)>);

impl ConfiguredSessions {
    /// Starts the thread. Relative outputs are below `directory`.
    pub(super) fn new(directory: PathBuf) -> Result<Self> {
        let (sender, receiver) = mpsc::channel::<(Controller, Vec<StartArgs>)>();
        let run = move || {
            for (mut controller, sessions) in receiver {
                sessions.iter().for_each(|args| start_one(&mut controller, &directory, args));
            }
        };
        let thread = thread::Builder::new().name("trace-configured".to_owned()).spawn(run);
        thread.context("cannot start a thread")?;
        Ok(Self(sender))
    }

    /// Starts the sessions that do not run, by a connection of the daemon itself. Errors are
    /// logged.
    pub(super) fn start(&self, server: &ControlServer, sessions: Vec<StartArgs>) {
        match server.connect() {
            // Fails only if the thread has panicked.
            Ok(controller) => drop(self.0.send((controller, sessions))),
            Err(error) => log::error!("cannot start the sessions of the configuration: {error}"),
        }
    }
}

fn start_one(controller: &mut Controller, directory: &Path, args: &StartArgs) {
    let name = args.name.as_deref().unwrap_or_default();
    match start_unless_it_runs(controller, directory, args, name) {
        Ok(true) => log::info!("session {name} records"),
        Ok(false) => log::info!("session {name} runs already"),
        Err(error) => {
            log::error!("cannot start the session {name}: {}", describe(error.as_ref()));
        }
    }
}

/// Starts a session, as a client does. Returns false if it runs already.
fn start_unless_it_runs(
    controller: &mut Controller,
    directory: &Path,
    args: &StartArgs,
    name: &str,
) -> Result<bool> {
    // Root sees the sessions of all users, whose names are their own.
    let own = geteuid().as_raw();
    let runs =
        |it: &SessionInfo| it.name == name && it.uid == own && it.state != SessionState::Stopped;
    if controller.sessions()?.iter().any(runs) {
        return Ok(false);
    }
    let request = start::request(args, directory)?;
    start::start(controller, &request).map(|_| true)
}
