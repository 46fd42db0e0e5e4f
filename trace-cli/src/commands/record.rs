//! `trace record`

mod alert;
pub(crate) mod attach;
pub(crate) mod categories;
mod child;
mod commands;
mod compiled_out;
mod compress;
mod conditions;
pub(crate) mod configuration;
mod control;
mod empty;
pub(crate) mod guard;
pub(crate) mod kernel;
mod logs;
mod progress;
pub(crate) mod report;
mod running;
mod sleds;
pub(crate) mod socket;
mod stripped;
pub(crate) mod summary;
mod triggers;

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::path::Path;
use std::process;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{bail, Context, Result};
use trace_manager::{
    ArchiveTarget, Guard, Limits, Manager, SessionHandle, SessionState, SessionSummary,
};
use trace_protocol::file::Placeholders;

use crate::args::Format;
use crate::cli::{RecordArgs, SessionArgs};
use crate::compression::Compression;
use crate::input::STANDARD;
use crate::logs::Logs;
use crate::message::{describe, HINT};
use crate::{descriptors, exit};

use alert::CommandAction;
use child::{Child, StartError};
use commands::Commands;
use configuration::config;
use control::Control;
use kernel::{KernelEvents, KernelResult};
use logs::LogOutput;
use progress::Meter;
use report::Report;
use running::{Ending, Recorder};
use sleds::Sleds;
use socket::Place;

/// Events during the session.
#[derive(Debug)]
enum Event {
    /// This process received a signal.
    Signal(i32),
    /// The command has ended.
    Ended(io::Result<std::process::ExitStatus>),
    /// Another command stops the recording.
    Stop,
}

/// How long the command may take to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// How often the display is updated and the providers are counted.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &RecordArgs) -> Result<u8> {
    if let Some(attach) = &args.attach {
        return attach::run(args, attach);
    }
    let args = &with_output_name(args)?;
    match record(args) {
        Err(error) if !args.command.is_empty() => {
            crate::say(&describe(error.as_ref()));
            Ok(exit::RECORD_FAILED)
        }
        result => result,
    }
}

/// Replaces the placeholders in the name of the archive.
fn with_output_name(args: &RecordArgs) -> Result<RecordArgs> {
    let program = args.command.first().and_then(|command| Path::new(command).file_name());
    let program = program.unwrap_or(OsStr::new("trace"));
    let values = Placeholders { pid: process::id(), program, time: SystemTime::now() };
    let output = values.expand(&args.session.output)?;
    let session = SessionArgs { output, ..args.session.clone() };
    Ok(RecordArgs { session, ..args.clone() })
}

fn record(args: &RecordArgs) -> Result<u8> {
    let logs = LogOutput::create(args)?;
    if logs.is_none() {
        Format::Fxt.refuse_other(&args.session.output)?;
        refuse_compressed_parts(&args.session)?;
    }
    categories::check(&args.session.categories)?;
    conditions::check(args)?;
    configuration::check(&args.session)?;
    kernel::check(args)?;
    let sleds = Sleds::of(args)?;
    let archive = logs.as_ref().map_or(&*args.session.output, |logs| &*logs.archive);
    let place = Place::choose(args)?;
    // This precedes the archive, so that a failure leaves no archive behind.
    let (sender, events) = mpsc::channel();
    let signals = child::watch_signals(sender.clone())?;
    let started = child::wait_on_thread(sender.clone())?;
    let commands = Commands::start(args)?;
    // The process is dropped last: the guard ends after the session.
    let (guard, _process) = guard::start(place.private_directory(), logs.as_ref());
    let manager = Arc::new(Manager::bind_with(place.path(), limits(args))?);
    let session = Arc::new(start_session(args, &manager, target(archive)?, guard)?);
    // The command may use it at once.
    let control = Control::start(place.private_directory(), &manager, &session, args, sender);
    if let Err(error) = descriptors::require_for_program() {
        discard(&session)?;
        return Err(error);
    }
    let (kernel, child) = start(args, &manager, place.path(), sleds.as_ref(), &started);
    signals.watch_ignored();
    let mut child = match child {
        Ok(child) => child,
        Err(StartError { code, reason }) => {
            // A command that never ran has no archive.
            discard(&session)?;
            let hint = kernel::hint_of_samples(args).filter(|_| code == exit::NOT_FOUND);
            crate::say(&(reason + &hint.unwrap_or_default()));
            return Ok(code);
        }
    };
    descriptors::raise_limit();
    if args.command.is_empty() {
        announce(args, place.path());
    }
    let meter = Meter::new(args);
    let mut recorder =
        Recorder { args, session: &session, events: &events, meter, commands, control };
    let Ending { mut status, then } = recorder.run(&mut child);
    let Recorder { commands, control, .. } = recorder;
    control.stopping();
    // While the session runs, the helper's last records do not depend on the size of its buffer.
    let kernel = kernel.map(KernelEvents::end);
    let mut summary = end(args, &session, &commands)?;
    if then != CommandAction::Wait {
        child.end(then == CommandAction::End);
    }
    let completed = complete(args, logs, kernel, &mut summary);
    control.end(&summary);
    // The commands and the program do not depend on an error.
    let output = &args.session.output;
    status = commands.end(args, &summary, output, &mut child, &events).unwrap_or(status);
    if then == CommandAction::Wait && child.is_running() {
        status = wait_for(args, &mut child, &events);
    }
    completed?;
    Ok(code(args, &summary, kernel, status))
}

/// Returns the limits of the manager. A program that starts slowly also registers slowly.
fn limits(args: &RecordArgs) -> Limits {
    let limits = Limits::default();
    let register_timeout = limits.register_timeout.max(args.session.start_timeout);
    Limits { register_timeout, ..limits }
}

/// Starts the session, and waits until the programs record that have registered.
fn start_session(
    args: &RecordArgs,
    manager: &Manager,
    target: ArchiveTarget,
    guard: Option<Guard>,
) -> Result<SessionHandle> {
    let session = match guard {
        Some(guard) => manager.start_guarded(config(args), target, guard)?,
        None => manager.start(config(args), target)?,
    };
    session.wait_state(SessionState::Started, Duration::from_secs(1));
    Ok(session)
}

/// Ends a session that recorded nothing, without an archive.
fn discard(session: &SessionHandle) -> Result<()> {
    session.discard();
    session.join()?;
    Ok(())
}

/// Prints which programs are recorded without a command.
fn announce(args: &RecordArgs, place: &Path) {
    let begin = match args.wait && args.session.duration.is_some() {
        true => "; the time starts when the first program joins",
        false => "",
    };
    let place = place.display();
    note(args, &format!("recording programs that find {place}{begin}; Ctrl-C stops"));
}

/// Writes the logs, reports the results, and compresses the archives.
fn complete(
    args: &RecordArgs,
    logs: Option<LogOutput>,
    kernel: Option<KernelResult>,
    summary: &mut SessionSummary,
) -> Result<()> {
    let kept = logs.as_ref().map(LogOutput::kept);
    let written = logs.map(|logs| write_logs(args, &logs, summary)).transpose();
    let logs = written.as_ref().ok().and_then(Option::as_ref);
    let output = kept.as_deref().filter(|_| written.is_err()).unwrap_or(&args.session.output);
    let printed = summary::print(&Report { kernel, logs, output, ..Report::from(args) }, summary);
    written?;
    if let Some(path) = &summary.backup {
        note(args, &format!("the earlier archive is now {}", path.display()));
    }
    compress_all(args, summary)?;
    printed
}

/// Writes the logs, whose size replaces that of the archive.
fn write_logs(args: &RecordArgs, logs: &LogOutput, summary: &mut SessionSummary) -> Result<Logs> {
    if summary.archive.is_err() {
        return Ok(Logs::default());
    }
    let logs = logs.write()?;
    logs.warn(&args.session.output);
    summary.archive = Ok(logs.bytes);
    Ok(logs)
}

/// Starts recording of the kernel's events, if they are selected, and then the command.
///
/// With the kernel's events, a thread does this that ends afterwards: the kernel selects the
/// events of the thread that starts the command, too, until it ends. The helper leaves them out.
fn start(
    args: &RecordArgs,
    manager: &Manager,
    socket: &Path,
    sleds: Option<&Sleds>,
    started: &Sender<process::Child>,
) -> (Option<KernelEvents>, Result<Child, StartError>) {
    if !kernel::is_selected(args) {
        return (None, Child::start(&args.command, socket, sleds, started));
    }
    let start = || {
        let kernel = KernelEvents::start(manager, args);
        if matches!(kernel, KernelEvents::Failed) && kernel::is_only(args) {
            return (None, Err(nothing_to_record(args)));
        }
        (Some(kernel), Child::start(&args.command, socket, sleds, started))
    };
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, start) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(error) => {
            let reason = format!("cannot start a thread: {error}");
            (None, Err(StartError { code: exit::RECORD_FAILED, reason }))
        }
    })
}

/// The error of a recording that has no other events than the kernel's, which cannot be recorded.
fn nothing_to_record(args: &RecordArgs) -> StartError {
    let code = if args.command.is_empty() { exit::FAILURE } else { exit::RECORD_FAILED };
    StartError {
        code,
        reason: "nothing is recorded: only events of the kernel are selected".into(),
    }
}

fn refuse_compressed_parts(args: &SessionArgs) -> Result<()> {
    if !args.rotate.is_empty() && Compression::of(&args.output)? != Compression::None {
        bail!(
            "cannot write {}: parts are not compressed{HINT}use a name that ends in .fxt, and \
             compress complete parts with gzip or zstd",
            args.output.display()
        );
    }
    Ok(())
}

/// Prints a message that `--quiet` suppresses.
fn note(args: &RecordArgs, message: &str) {
    if !args.quiet {
        crate::say(message);
    }
}

/// Ends the session, and reports the last alerts.
fn end(args: &RecordArgs, session: &SessionHandle, commands: &Commands) -> Result<SessionSummary> {
    session.stop();
    let summary = session.join()?;
    while let Some(notice) = session.next_notice(Duration::ZERO) {
        alert::report_last(args, commands, &notice);
    }
    Ok(summary)
}

/// Compresses the archive and its snapshots, if their names ask for that.
fn compress_all(args: &RecordArgs, summary: &SessionSummary) -> Result<()> {
    let snapshots = summary.snapshots.iter().filter(|snapshot| snapshot.archive.is_ok());
    if summary.archive.as_ref().is_ok_and(|bytes| *bytes > 0) {
        compress::if_compressed_name(&args.session.output)?;
    }
    snapshots.map(|snapshot| snapshot.path.as_path()).try_for_each(compress::if_compressed_name)
}

/// Waits for the command after recording has ended. Returns the exit code.
fn wait_for(args: &RecordArgs, child: &mut Child, events: &Receiver<Event>) -> u8 {
    loop {
        match events.recv() {
            Ok(Event::Ended(ended)) => return child.ended(ended),
            Ok(Event::Signal(signal)) if conditions::takes(args, signal) => {}
            Ok(Event::Signal(signal)) if child.forward(signal) => {}
            // Recording has ended already.
            Ok(Event::Stop) => {}
            Ok(Event::Signal(_)) | Err(_) => {
                child.end(true);
                return child.status_at_deadline();
            }
        }
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

/// Returns the exit code of `trace record`; `status` is the command's.
fn code(
    args: &RecordArgs,
    summary: &SessionSummary,
    kernel: Option<KernelResult>,
    status: u8,
) -> u8 {
    if summary.archive.is_err() {
        return if args.command.is_empty() { exit::FAILURE } else { exit::RECORD_FAILED };
    }
    let status = conditions::status(args, summary, status).unwrap_or(status);
    if args.strict && status == exit::OK && summary::is_incomplete(summary, kernel) {
        exit::INCOMPLETE
    } else {
        status
    }
}
