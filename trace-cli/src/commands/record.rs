//! `trace record`

mod alarm;
mod child;
mod compiled_out;
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

use crate::args::Format;
use crate::cli::RecordArgs;
use crate::input::STANDARD;
use crate::message::describe;
use crate::{descriptors, exit};

use alarm::Then;
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
            crate::say(&describe(error.as_ref()));
            Ok(exit::RECORD_FAILED)
        }
        result => result,
    }
}

fn record(args: &RecordArgs) -> Result<u8> {
    Format::Fxt.refuse_other(&args.output)?;
    let place = Place::choose(args)?;
    // Before there is an archive: what fails here leaves none behind.
    let (sender, events) = mpsc::channel();
    child::watch_signals(sender.clone())?;
    // It goes last: it ends when the session has.
    let (guard, _process) = guard::start(place.private_directory());
    let manager = Manager::bind(place.path())?;
    let session = match guard {
        Some(guard) => manager.start_guarded(config(args), target(&args.output)?, guard)?,
        None => manager.start(config(args), target(&args.output)?)?,
    };
    session.wait_state(SessionState::Started, Duration::from_secs(1));
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
    descriptors::raise_limit();
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
    let recorder = Recorder { args, session: &session, events: &events, meter: Meter::new() };
    let Ending { mut status, then } = recorder.run(&mut child);
    let summary = end(args, &session)?;
    child.end(then == Then::End);
    summary::print(args, &summary)?;
    compress_all(args, &summary)?;
    if then == Then::Wait {
        status = wait_for(&mut child, &events);
    }
    Ok(code(args, &summary, status))
}

/// Ends the session, and tells what alerts have done last.
fn end(args: &RecordArgs, session: &SessionHandle) -> Result<SessionSummary> {
    session.stop();
    let summary = session.join()?;
    while let Some(notice) = session.next_notice(Duration::ZERO) {
        alarm::tell(args, &notice);
    }
    Ok(summary)
}

/// Compresses the archive and its snapshots, if their names ask for that.
fn compress_all(args: &RecordArgs, summary: &SessionSummary) -> Result<()> {
    let snapshots = summary.snapshots.iter().filter(|snapshot| snapshot.archive.is_ok());
    if summary.archive.is_ok() {
        compress::if_wanted(&args.output)?;
    }
    snapshots.map(|snapshot| snapshot.path.as_path()).try_for_each(compress::if_wanted)
}

/// Waits for the command, which is not recorded any more. Returns the exit code.
fn wait_for(child: &mut Child, events: &Receiver<Event>) -> u8 {
    loop {
        match events.recv() {
            Ok(Event::Ended(ended)) => return child.ended(ended),
            Ok(Event::Signal(signal)) if child.forward(signal) => {}
            Ok(Event::Signal(_)) | Err(_) => {
                child.end(true);
                return child.status_at_deadline();
            }
        }
    }
}

fn config(args: &RecordArgs) -> SessionConfig {
    SessionConfig {
        mode: args.mode.into(),
        buffer_size: args.buffer_size,
        categories: args.categories.clone(),
        triggers: alarm::triggers(args),
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

/// Decides on the exit code, when the summary has been printed.
fn code(args: &RecordArgs, summary: &SessionSummary, status: u8) -> u8 {
    if summary.archive.is_err() {
        return if args.command.is_empty() { exit::FAILURE } else { exit::RECORD_FAILED };
    }
    let incomplete = !summary.missing().is_nothing()
        || summary.events() == 0
        || !summary.categories_without_events().is_empty();
    if args.strict && status == exit::OK && incomplete {
        exit::INCOMPLETE
    } else {
        status
    }
}

/// Why recording ends.
struct Ending {
    /// The exit code, as far as the command decides on it.
    status: u8,
    then: Then,
}

/// A session under way.
struct Recorder<'a> {
    args: &'a RecordArgs,
    session: &'a SessionHandle,
    events: &'a Receiver<Event>,
    meter: Meter,
}

impl Recorder<'_> {
    /// Waits until recording is to end.
    fn run(self, child: &mut Child) -> Ending {
        if self.args.wait && !child.is_running() && !self.wait_for_first() {
            return Ending { status: exit::OK, then: Then::Leave };
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
                        return Ending { status, then: Then::Leave };
                    }
                }
                Ok(Event::Signal(signal)) => {
                    if !child.is_running() || !child.forward(signal) {
                        return Ending { status, then: Then::End };
                    }
                    // The command decides what the signal means; if it goes on, it has this long.
                    let patience = child.patience(signal, GRACE);
                    deadline = [deadline, patience].into_iter().flatten().min();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ending { status, then: Then::End },
            }
            self.meter.show(&self.session.progress());
            if let Some(then) = self.next_notices() {
                return self.stopped(child, status, then);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ending { status: child.status_at_deadline(), then: Then::End };
            }
            if self.args.wait && !child.is_running() && self.is_idle() {
                return Ending { status, then: Then::Leave };
            }
        }
    }

    /// Tells what alerts have done. Returns what becomes of the command if one has ended recording.
    fn next_notices(&self) -> Option<Then> {
        let notices = std::iter::from_fn(|| self.session.next_notice(Duration::ZERO));
        notices.filter_map(|notice| alarm::tell(self.args, &notice)).last()
    }

    /// How recording ends if an alert has ended it. The command may have ended by itself meanwhile.
    fn stopped(&self, child: &mut Child, status: u8, then: Then) -> Ending {
        let mut ending = Ending { status, then };
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Ended(ended) => ending.status = child.ended(ended),
                Event::Signal(signal) if child.forward(signal) => {}
                Event::Signal(_) => ending.then = Then::End,
            }
        }
        if !child.is_running() {
            ending.then = Then::Leave;
        }
        ending
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
