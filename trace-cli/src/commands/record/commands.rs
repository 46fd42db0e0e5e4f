//! Commands of triggers, as this user.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use anyhow::{Context, Result};
use signal_hook::consts::SIGINT;
use trace_convert::visible;
use trace_manager::{Cause, CommandStopper, SessionSummary, TriggerCommands};

use super::child::{asks_to_end, Child};
use super::{conditions, Event, GRACE, TICK};
use crate::cli::RecordArgs;
use crate::compression::Compression;
use crate::exit;
use crate::message::plural;

/// The commands of a recording.
#[derive(Debug)]
pub(super) struct Commands {
    commands: TriggerCommands,
    /// The number of commands that wait for the end, if snapshots are compressed then.
    deferred: Option<Cell<usize>>,
    /// Dropped after `commands`, whose thread then ends with the command that runs.
    stopper: Stopper,
}

/// Ends the commands when it is dropped: recording may fail before their end.
#[derive(Debug)]
struct Stopper(CommandStopper);

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.terminate();
        if !self.0.wait(GRACE) {
            self.0.kill();
        }
    }
}

impl Commands {
    /// Prepares the commands of the triggers.
    pub(super) fn start(args: &RecordArgs) -> Result<Self> {
        let is_compressed = Compression::of(&args.session.output)? != Compression::None;
        let report = |message: &str| crate::say(&visible(message));
        let commands = TriggerCommands::start(&args.session.triggers, report);
        let commands = commands.context("cannot start a thread")?;
        let stopper = Stopper(commands.stopper());
        Ok(Self { commands, deferred: is_compressed.then(Cell::default), stopper })
    }

    /// Runs the commands of the triggers that took a snapshot.
    pub(super) fn on_snapshot(&self, causes: &[Cause], path: &Path) {
        match &self.deferred {
            Some(deferred) => deferred.set(deferred.get() + self.commands.count(causes)),
            None => self.commands.on_snapshot(causes, path),
        }
    }

    /// Runs the commands for a part of the archive. Parts are not compressed.
    pub(super) fn on_part(&self, path: &Path) {
        self.commands.on_part(path);
    }

    /// Runs the remaining commands: no archive changes any more. `output` is the archive. Waits for
    /// the end of all. Returns the exit code if the recorded command has ended meanwhile, or a
    /// signal has ended the commands.
    pub(super) fn end(
        self,
        args: &RecordArgs,
        summary: &SessionSummary,
        output: &Path,
        child: &mut Child,
        events: &Receiver<Event>,
    ) -> Option<u8> {
        if let Some(deferred) = &self.deferred {
            self.run_deferred(deferred.get(), summary);
        }
        self.commands.on_last_parts(&summary.parts);
        if let (Some(cause), Ok(_)) = (&summary.stopped_by, &summary.archive) {
            let path = summary.parts.last().map_or(output, PathBuf::as_path);
            self.commands.on_end(cause, path);
        }
        let Self { commands, stopper, .. } = self;
        // The thread ends with its last command.
        drop(commands);
        wait(args, &stopper.0, child, events)
    }

    /// Runs the commands of the snapshots that are kept.
    fn run_deferred(&self, deferred: usize, summary: &SessionSummary) {
        let mut run = 0;
        for snapshot in summary.snapshots.iter().filter(|snapshot| snapshot.archive.is_ok()) {
            run += self.commands.count(&snapshot.causes);
            self.commands.on_last_snapshot(&snapshot.causes, &snapshot.path);
        }
        if let Some(removed @ 1..) = deferred.checked_sub(run) {
            let commands = plural(removed as u64, "command does", "commands do");
            crate::say(&format!("{removed} {commands} not run: the snapshots were removed before"));
        }
    }
}

/// Waits for the end of the commands.
///
/// The recorded command gets the signals while it runs. One that it does not get, and the second
/// one that asks it to end, ends the commands of the triggers. Another one kills them.
fn wait(
    args: &RecordArgs,
    commands: &CommandStopper,
    child: &mut Child,
    events: &Receiver<Event>,
) -> Option<u8> {
    let mut status = None;
    let mut deadline: Option<Instant> = None;
    while !commands.wait(TICK) {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            commands.kill();
        }
        for event in events.try_iter() {
            match event {
                // The status of a command that recording has ended is decided already.
                Event::Ended(_) if !child.is_running() => {}
                Event::Ended(ended) => status = Some(child.ended(ended)),
                Event::Signal(signal) if conditions::takes(args, signal) => {}
                Event::Signal(signal) if child.is_running() && child.forward(signal) => {}
                Event::Signal(signal) if !asks_to_end(signal) => {}
                // Recording has ended already.
                Event::Stop => {}
                Event::Signal(_) if deadline.is_some() => commands.kill(),
                Event::Signal(_) => {
                    commands.terminate();
                    deadline = Some(Instant::now() + GRACE);
                    status = Some(exit::SIGNALLED + SIGINT as u8);
                }
            }
        }
    }
    status
}
