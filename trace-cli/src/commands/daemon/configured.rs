//! The sessions of the configuration, which the daemon starts itself.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;

use anyhow::{Context, Error, Result};
use rustix::process::geteuid;
use trace_manager::controller::{
    ConfigurationInfo, ConfiguredFailure, Controller, SessionInfo, SessionState,
};
use trace_manager::{ConfigurationReporter, ControlServer};

use crate::cli::StartArgs;
use crate::commands::start;
use crate::message::describe;

/// Starts sessions on a thread: a session waits for its programs, and signals do not. Controllers
/// get the failures.
#[derive(Debug)]
pub(super) struct ConfiguredSessions(Sender<Task>);

/// A task of the thread.
#[derive(Debug)]
enum Task {
    /// Starts the sessions that do not run.
    Start(Controller, Vec<StartArgs>),
    /// Reports why a configuration is not used. The sessions of the earlier one go on.
    Refuse(String),
}

impl ConfiguredSessions {
    /// Starts the thread. Relative outputs are below `directory`.
    pub(super) fn new(directory: PathBuf, reporter: ConfigurationReporter) -> Result<Self> {
        let (sender, tasks) = mpsc::channel::<Task>();
        let run = move || {
            let mut info = ConfigurationInfo::default();
            for task in tasks {
                perform(task, &directory, &mut info, &reporter);
                reporter.report(info.clone());
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
            Ok(controller) => self.send(Task::Start(controller, sessions)),
            Err(error) => {
                let error = Error::from(error);
                self.refuse(&error.context("cannot start the sessions of the configuration"));
            }
        }
    }

    /// Reports that a configuration is not used.
    pub(super) fn refuse(&self, error: &Error) {
        let reason = describe(error.as_ref());
        log::error!("the configuration is not used: {reason}");
        self.send(Task::Refuse(reason));
    }

    fn send(&self, task: Task) {
        // Fails only if the thread has panicked.
        let _ = self.0.send(task);
    }
}

fn perform(
    task: Task,
    directory: &Path,
    info: &mut ConfigurationInfo,
    reporter: &ConfigurationReporter,
) {
    match task {
        Task::Start(mut controller, sessions) => {
            *info = ConfigurationInfo::default();
            for args in &sessions {
                // The next one may wait for programs, or for the reader of a pipe.
                if let Some(failure) = start_one(&mut controller, directory, args) {
                    info.failures.push(failure);
                    reporter.report(info.clone());
                }
            }
            info.is_complete = true;
        }
        Task::Refuse(reason) => {
            (info.is_complete, info.refused) = (true, Some(reason));
        }
    }
}

/// Starts a session unless it runs. Returns the failure.
fn start_one(
    controller: &mut Controller,
    directory: &Path,
    args: &StartArgs,
) -> Option<ConfiguredFailure> {
    let name = args.name.as_deref().unwrap_or_default();
    match start_unless_it_runs(controller, directory, args, name) {
        Ok(true) => log::info!("session {name} records"),
        Ok(false) => log::info!("session {name} runs already"),
        Err(error) => {
            let reason = describe(error.as_ref());
            log::error!("cannot start the session {name}: {reason}");
            return Some(ConfiguredFailure { session: name.to_owned(), reason });
        }
    }
    None
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
