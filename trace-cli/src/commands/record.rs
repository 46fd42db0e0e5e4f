//! `trace record`

mod child;
mod compress;
mod guard;
mod progress;
mod socket;
mod summary;

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use trace_manager::{
    ArchiveTarget, Manager, SessionConfig, SessionHandle, SessionState, SessionSummary,
};

use crate::cli::RecordArgs;
use crate::exit;
use crate::input::STANDARD;

use child::{Child, StartError};
use progress::Meter;
use socket::Place;
pub(crate) use socket::SOCKET_NAME;

/// What happens while the session runs.
#[derive(Debug)]
enum Event {
    /// A signal came for this process.
    Signal(i32),
    /// The command has ended.
    Ended(io::Result<std::process::ExitStatus>),
}

/// How long the command may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// How long a program may take to join that a command has started and not waited for.
const JOINING: Duration = Duration::from_secs(1);

/// How often the display is renewed and the providers are counted.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &RecordArgs) -> Result<u8> {
    match record(args) {
        Err(error) if !args.command.is_empty() => {
            crate::say(&format!("{error:#}"));
            Ok(exit::RECORD_FAILED)
        }
        result => result,
    }
}

fn record(args: &RecordArgs) -> Result<u8> {
    let place = Place::choose(args)?;
    // It goes last: it ends when the session has.
    let (guard, _process) = guard::start(place.private_directory());
    let manager = Manager::bind(place.path())?;
    let session = match guard {
        Some(guard) => manager.start_guarded(config(args), target(&args.output)?, guard)?,
        None => manager.start(config(args), target(&args.output)?)?,
    };
    session.wait_state(SessionState::Started, Duration::from_secs(1));
    let (sender, events) = mpsc::channel();
    child::watch_signals(sender.clone())?;
    let mut child = match Child::start(&args.command, place.path(), sender) {
        Ok(child) => child,
        Err(StartError { code, reason }) => {
            // There is no archive of a command that never ran.
            session.discard();
            session.join()?;
            crate::say(&reason);
            return Ok(code);
        }
    };
    if args.command.is_empty() {
        let begin = if args.wait && args.duration.is_some() {
            "; the time begins with the first"
        } else {
            ""
        };
        crate::say(&format!(
            "recording programs that find {}{begin}; Ctrl-C stops",
            place.path().display()
        ));
    }
    let ending = Recorder { args, session: &session, events, meter: Meter::new() }.run(&mut child);
    session.stop();
    let summary = session.join()?;
    child.end(ending.kills);
    finish(args, &summary, ending.status)
}

fn config(args: &RecordArgs) -> SessionConfig {
    SessionConfig {
        mode: args.mode.into(),
        buffer_size: args.buffer_size,
        categories: args.categories.clone(),
        ..SessionConfig::default()
    }
}

fn target(output: &Path) -> Result<ArchiveTarget> {
    if output == Path::new(STANDARD) {
        let stdout =
            io::stdout().as_fd().try_clone_to_owned().context("cannot write to standard output")?;
        return Ok(ArchiveTarget::Stream(stdout));
    }
    Ok(ArchiveTarget::File(output.to_owned()))
}

/// Prints the summary, and decides on the exit code.
fn finish(args: &RecordArgs, summary: &SessionSummary, status: u8) -> Result<u8> {
    summary::print(args, summary)?;
    if let Err(error) = &summary.archive {
        crate::say(&format!("{error}"));
        return Ok(if args.command.is_empty() { exit::FAILURE } else { exit::RECORD_FAILED });
    }
    compress::if_wanted(&args.output)?;
    let incomplete = summary.lost() > 0 || summary.events() == 0;
    Ok(if args.strict && status == exit::OK && incomplete { exit::INCOMPLETE } else { status })
}

/// Why recording ends.
struct Ending {
    /// The exit code, as far as the command decides on it.
    status: u8,
    /// The command is to be ended.
    kills: bool,
}

/// A session under way.
struct Recorder<'a> {
    args: &'a RecordArgs,
    session: &'a SessionHandle,
    events: Receiver<Event>,
    meter: Meter,
}

impl Recorder<'_> {
    /// Waits until recording is to end.
    fn run(self, child: &mut Child) -> Ending {
        if self.args.wait && !child.is_running() && !self.wait_for_first() {
            return Ending { status: exit::OK, kills: false };
        }
        let mut deadline =
            self.args.duration.and_then(|duration| Instant::now().checked_add(duration));
        let mut status = exit::OK;
        loop {
            match self.events.recv_timeout(TICK) {
                Ok(Event::Ended(ended)) => {
                    status = child.ended(ended);
                    if self.args.wait {
                        // What the command has left behind may be about to join.
                        self.session.wait_provider(JOINING);
                    }
                    if !self.args.wait || self.is_idle() {
                        return Ending { status, kills: false };
                    }
                }
                Ok(Event::Signal(signal)) => {
                    if !child.is_running() || !child.forward(signal) {
                        return Ending { status, kills: true };
                    }
                    // The command decides what the signal means; if it goes on, it has this long.
                    let patience = child.patience(signal, GRACE);
                    deadline = [deadline, patience].into_iter().flatten().min();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ending { status, kills: true },
            }
            self.meter.show(&self.session.progress());
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ending { status: child.status_at_deadline(), kills: true };
            }
            if self.args.wait && !child.is_running() && self.is_idle() {
                return Ending { status, kills: false };
            }
        }
    }

    /// Waits until the first program joins. False if a signal comes before that.
    fn wait_for_first(&self) -> bool {
        while !self.session.wait_provider(TICK) {
            if self.events.try_recv().is_ok() {
                return false;
            }
        }
        true
    }

    /// Whether programs have been recorded and none is any more.
    fn is_idle(&self) -> bool {
        let progress = self.session.progress();
        progress.providers == 0 && (progress.joined > 0 || !self.args.command.is_empty())
    }
}
