//! The recorded command: started, sent our signals, and stopped.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{self, Command, ExitStatus};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{getpgrp, kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

use super::sleds::Sleds;
use super::{Event, GRACE};
use crate::exit;
use crate::ignored_signals::{self, Divided};
use crate::message::describe;

/// The signal that takes a snapshot. It is not forwarded to the command.
pub(super) const SNAPSHOT: i32 = SIGUSR1;

/// The recorded command, or none.
#[derive(Debug)]
pub(super) struct Child {
    running: Option<Pid>,
    /// The number of signals that ask it to end.
    signals: u32,
    /// The signals that it has got from this process or from the terminal.
    forwarded: Vec<i32>,
}

/// The command could not be started.
#[derive(Debug)]
pub(super) struct StartError {
    pub(super) code: u8,
    pub(super) reason: String,
}

/// The signals for this process, which are events.
#[derive(Debug)]
pub(super) struct WatchedSignals {
    signals: Handle,
    /// Those that are not watched yet.
    ignored: Vec<i32>,
}

/// Sends signals for this process as events. Those that it ignores are left for
/// [`WatchedSignals::watch_ignored`].
pub(super) fn watch_signals(events: Sender<Event>) -> Result<WatchedSignals> {
    let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SNAPSHOT, SIGUSR2];
    let Divided { own, ignored } = ignored_signals::divide(&all);
    let mut signals = Signals::new(own).context("cannot watch for signals")?;
    let watched = WatchedSignals { signals: signals.handle(), ignored };
    let watch = move || {
        for signal in signals.forever() {
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("trace-signals".to_owned()).spawn(watch);
    thread.map(|_| watched).context("cannot watch for signals")
}

impl WatchedSignals {
    /// Watches the ignored signals, too. The command, which was started before, ignores them.
    pub(super) fn watch_ignored(&self) {
        for signal in &self.ignored {
            // One that cannot be watched stays ignored.
            let _unwatched = self.signals.add_signal(*signal);
        }
    }
}

impl Child {
    /// Returns that of a recording without a command.
    pub(super) fn none() -> Self {
        Self { running: None, signals: 0, forwarded: Vec::new() }
    }

    /// Starts the command so that it and its children find the session, and sends it to the thread
    /// that waits for its end.
    pub(super) fn start(
        command: &[OsString],
        socket: &Path,
        sleds: Option<&Sleds>,
        started: &Sender<process::Child>,
    ) -> Result<Self, StartError> {
        let Some((program, arguments)) = command.split_first() else { return Ok(Self::none()) };
        let socket = std::path::absolute(socket).unwrap_or_else(|_| socket.to_owned());
        let mut child = Command::new(program);
        child.args(arguments).env("TRACE_SOCKET", socket).env_remove("TRACE_OUTPUT");
        if let Some(sleds) = sleds {
            sleds.set_variables(&mut child);
        }
        let child = child.spawn().map_err(|error| start_error(program, &error))?;
        let pid = Pid::from_child(&child);
        // The thread waits for it.
        let _sent = started.send(child);
        Ok(Self { running: Some(pid), ..Self::none() })
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Notes that the command has ended, and returns its exit code.
    pub(super) fn ended(&mut self, status: io::Result<ExitStatus>) -> u8 {
        self.running = None;
        status.map_or(exit::RECORD_FAILED, exit::of_command)
    }

    /// Forwards a signal, unless the terminal has sent it to the command as well. Returns false for
    /// the second signal that asks the command to end.
    pub(super) fn forward(&mut self, signal: i32) -> bool {
        if asks_to_end(signal) {
            self.signals += 1;
        }
        if signal != SNAPSHOT && !self.forwarded.contains(&signal) {
            self.forwarded.push(signal);
        }
        let from_terminal = matches!(signal, SIGINT | SIGQUIT) && is_in_foreground();
        let stays = from_terminal || signal == SNAPSHOT;
        if let (Some(pid), false, Some(signal)) = (self.running, stays, Signal::from_raw(signal)) {
            // Fails if the command has just ended.
            let _ended = kill_process(pid, signal);
        }
        self.signals < 2
    }

    /// Notifies the command of a snapshot.
    pub(super) fn notify(&self) {
        if let Some(pid) = self.running {
            // Fails if the command has just ended.
            let _ended = kill_process(pid, Signal::Usr1);
        }
    }

    /// Returns whether a signal was forwarded to the command.
    pub(super) fn has_got(&self, signal: i32) -> bool {
        self.forwarded.contains(&signal)
    }

    /// Returns the deadline for the command's end after this signal.
    pub(super) fn patience(&self, signal: i32, patience: Duration) -> Option<Instant> {
        asks_to_end(signal).then(|| Instant::now() + patience)
    }

    /// Returns the exit code if recording ends before the command, as the user requested.
    pub(super) fn status_at_deadline(&self) -> u8 {
        match self.signals {
            0 => exit::OK,
            _ => exit::SIGNALLED + SIGINT as u8,
        }
    }

    /// Ends the command if it is running and `kills` is true: first with SIGTERM, then with
    /// SIGKILL.
    pub(super) fn end(&mut self, kills: bool) {
        let Some(pid) = self.running.take().filter(|_| kills) else { return };
        let _ended = kill_process(pid, Signal::Term);
        let deadline = Instant::now() + GRACE;
        while rustix::process::test_kill_process(pid).is_ok() {
            if Instant::now() >= deadline {
                let _ended = kill_process(pid, Signal::Kill);
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Starts a thread that waits for the end of the command, and sends it as an event. It gets the
/// command later, so that no command runs without it.
pub(super) fn wait_on_thread(events: Sender<Event>) -> Result<Sender<process::Child>> {
    let (sender, started) = mpsc::channel::<process::Child>();
    let wait = move || {
        // There is none if it could not be started.
        let Ok(mut child) = started.recv() else { return };
        // The receiver is gone if recording ended before the command.
        let _late = events.send(Event::Ended(child.wait()));
    };
    let thread = thread::Builder::new().name("trace-command".to_owned()).spawn(wait);
    thread.context("cannot start a thread")?;
    Ok(sender)
}

pub(super) fn asks_to_end(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

/// Returns whether the terminal sends its signals to this process group.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stderr()).is_ok_and(|group| group == getpgrp())
}

fn start_error(program: &OsString, error: &io::Error) -> StartError {
    let program = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => {
            StartError { code: exit::NOT_FOUND, reason: format!("cannot run {program}: not found") }
        }
        _ => StartError {
            code: exit::CANNOT_RUN,
            reason: format!("cannot run {program}: {}", describe(error)),
        },
    }
}
