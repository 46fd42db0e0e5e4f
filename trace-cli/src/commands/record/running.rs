//! A running session, until recording is to end.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use trace_manager::{Condition, Notice, SessionHandle};

use super::alert::{self, CommandAction};
use super::child::{Child, SNAPSHOT};
use super::commands::Commands;
use super::control::Control;
use super::progress::Meter;
use super::{conditions, note, Event, GRACE, TICK};
use crate::cli::{RecordArgs, RecordFormat};
use crate::exit;

/// How long to wait for a background program of the command to join, after the command has ended.
const JOINING: Duration = Duration::from_secs(1);

/// Why recording ends.
pub(super) struct Ending {
    /// The exit code that follows from the command's end.
    pub(super) status: u8,
    pub(super) then: CommandAction,
}

/// A running session.
pub(super) struct Recorder<'a> {
    pub(super) args: &'a RecordArgs,
    pub(super) session: &'a SessionHandle,
    pub(super) events: &'a Receiver<Event>,
    pub(super) meter: Meter,
    pub(super) commands: Commands,
    pub(super) control: Control,
}

impl Recorder<'_> {
    /// Waits until recording is to end.
    pub(super) fn run(&mut self, child: &mut Child) -> Ending {
        if self.args.wait && !child.is_running() && !self.wait_for_first(child) {
            return Ending { status: exit::OK, then: CommandAction::Leave };
        }
        let mut deadline =
            self.args.session.duration.and_then(|duration| Instant::now().checked_add(duration));
        let mut status = exit::OK;
        self.meter.show(&self.session.progress());
        loop {
            match self.events.recv_timeout(TICK) {
                Ok(Event::Ended(ended)) => {
                    if conditions::is_death(child, &ended) {
                        self.session.hold(Condition::Death);
                    }
                    status = child.ended(ended);
                    if self.args.wait {
                        // A background program of the command may be about to join.
                        self.session.wait_provider(JOINING);
                    }
                    if !self.args.wait || self.is_idle() {
                        return Ending { status, then: CommandAction::Leave };
                    }
                }
                Ok(Event::Stop) => return self.stopped_by_command(child, status),
                Ok(Event::Signal(signal)) if self.takes(signal) => {}
                Ok(Event::Signal(signal)) => {
                    if !child.is_running() || !child.forward(signal) {
                        return Ending { status, then: CommandAction::End };
                    }
                    // The command handles the signal itself. If it continues, recording ends after
                    // this time.
                    let patience = child.patience(signal, GRACE);
                    deadline = [deadline, patience].into_iter().flatten().min();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Ending { status, then: CommandAction::End }
                }
            }
            self.meter.show(&self.session.progress());
            if let Some(then) = self.next_notices(child) {
                return self.stopped(child, status, then);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ending { status: child.status_at_deadline(), then: CommandAction::End };
            }
            if self.args.wait && !child.is_running() && self.is_idle() {
                return Ending { status, then: CommandAction::Leave };
            }
        }
    }

    fn request_snapshot(&self) {
        match self.args.format {
            RecordFormat::Fxt => self.session.request_snapshot(),
            RecordFormat::Xray => crate::say("no snapshot: the format xray has none"),
        }
    }

    /// Reports new alerts. Returns the command's action if an alert has ended recording.
    fn next_notices(&mut self, child: &Child) -> Option<CommandAction> {
        let session = self.session;
        let notices = std::iter::from_fn(|| session.next_notice(Duration::ZERO));
        let report = |notice| {
            self.control.forward(&notice);
            if self.args.notify_command && matches!(notice, Notice::Snapshot { .. }) {
                child.notify();
            }
            alert::report(self.args, &self.commands, &notice)
        };
        notices.filter_map(report).last()
    }

    /// Handles a signal that is for this process only: it takes a snapshot, or is the condition of
    /// a trigger. Returns whether it is one.
    fn takes(&self, signal: i32) -> bool {
        match conditions::signal_condition(self.args, signal) {
            Some(condition) => self.session.hold(condition),
            None if signal == SNAPSHOT => self.request_snapshot(),
            None => return false,
        }
        true
    }

    /// Returns the ending if another command has stopped recording.
    fn stopped_by_command(&self, child: &mut Child, status: u8) -> Ending {
        let and = match child.is_running() {
            true => ", and the command continues",
            false => "",
        };
        // A command that is notified ends it to get the last snapshots.
        if !self.args.notify_command {
            note(self.args, &format!("another command ends the recording{and}"));
        }
        self.stopped(child, status, CommandAction::Wait)
    }

    /// Returns the ending for an alert that ended recording. The command may have ended meanwhile.
    fn stopped(&self, child: &mut Child, status: u8, then: CommandAction) -> Ending {
        let mut ending = Ending { status, then };
        while let Ok(event) = self.events.try_recv() {
            match event {
                Event::Ended(ended) => ending.status = child.ended(ended),
                Event::Signal(signal) if conditions::takes(self.args, signal) => {}
                Event::Signal(signal) if child.forward(signal) => {}
                Event::Signal(_) => ending.then = CommandAction::End,
                Event::Stop => {}
            }
        }
        if !child.is_running() {
            ending.then = CommandAction::Leave;
        }
        ending
    }

    /// Waits until the first program joins. Returns false if a signal or a trigger ends recording
    /// before.
    fn wait_for_first(&mut self, child: &Child) -> bool {
        while !self.session.wait_provider(TICK) {
            if self.next_notices(child).is_some() {
                return false;
            }
            match self.events.try_recv() {
                Ok(Event::Signal(signal)) if self.takes(signal) => {}
                Ok(_) => return false,
                Err(_) => {}
            }
        }
        true
    }

    /// Returns whether all recorded programs have ended.
    fn is_idle(&self) -> bool {
        let progress = self.session.progress();
        progress.providers == 0 && (progress.joined > 0 || !self.args.command.is_empty())
    }
}
