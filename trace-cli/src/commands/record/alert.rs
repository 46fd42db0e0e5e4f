//! Reports of alerts and conditions, and their effect on the command.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::slice;

use anyhow::{bail, Result};
use trace_convert::visible;
use trace_manager::{Cause, Condition, Notice, SessionSummary, TriggerRule, TriggerSignal};

use super::commands::Commands;
use crate::cli::RecordArgs;
use crate::exit;
use crate::message::HINT;

/// The exit status of a Rust program whose main thread panicked.
const PANIC: i32 = 101;

/// The action on the command when recording has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandAction {
    /// None: the command has ended, or continues.
    Leave,
    /// Stop the command.
    End,
    /// Wait for the command.
    Wait,
}

/// Reports an alert or a condition, and runs commands. Returns the action on the command if it has
/// stopped recording.
pub(super) fn report(
    args: &RecordArgs,
    commands: &Commands,
    notice: &Notice,
) -> Option<CommandAction> {
    match notice {
        Notice::Snapshot { path, causes, result: Ok(_) } => {
            super::note(args, &format!("{}snapshot {}", prefix(causes), path.display()));
            commands.on_snapshot(causes, path);
            None
        }
        Notice::Snapshot { causes, result: Err(error), .. } => {
            crate::say(&format!("{}no snapshot: {error}", prefix(causes)));
            None
        }
        Notice::GuardFailed { reason } => {
            crate::say(&format!(
                "the guard will not complete the archive if this command is killed: {reason}"
            ));
            None
        }
        Notice::Stopping { cause } => Some(stopping(args, cause)),
        _ => None,
    }
}

/// Reports a notice after the end of recording.
pub(super) fn report_last(args: &RecordArgs, commands: &Commands, notice: &Notice) {
    match notice {
        Notice::Stopping { cause } => {
            super::note(args, &format!("{}recording ends", prefix(slice::from_ref(cause))));
        }
        notice => drop(report(args, commands, notice)),
    }
}

fn stopping(args: &RecordArgs, cause: &Cause) -> CommandAction {
    let mut rules = args.session.triggers.iter();
    let exits = rules.any(|rule| rule.cause() == *cause && rule.actions.exit.is_some());
    let (action, what) = match (args.command.is_empty(), exits) {
        (true, _) => (CommandAction::Leave, "recording ends"),
        (false, true) => (CommandAction::End, "recording ends, and the command is stopped"),
        (false, false) => (CommandAction::Wait, "recording ends, and the command continues"),
    };
    super::note(args, &format!("{}{what}", prefix(slice::from_ref(cause))));
    action
}

/// Returns the causes of a snapshot, before a message about it. A snapshot on demand has none.
fn prefix(causes: &[Cause]) -> String {
    if causes.is_empty() {
        return String::new();
    }
    let (alerts, conditions) = Cause::split(causes);
    let names: Vec<String> = alerts.iter().map(|alert| format!("\"{}\"", visible(alert))).collect();
    let what = if names.len() == 1 { "alert" } else { "alerts" };
    let alerts = (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let conditions = conditions.iter().map(|condition| visible(condition).into_owned());
    let causes: Vec<String> = alerts.into_iter().chain(conditions).collect();
    format!("{}: ", causes.join(", "))
}

/// Returns the condition of a trigger for a signal, if there is one.
pub(super) fn signal_condition(args: &RecordArgs, signal: i32) -> Option<Condition> {
    let signal = match signal {
        signal_hook::consts::SIGUSR1 => TriggerSignal::Usr1,
        signal_hook::consts::SIGUSR2 => TriggerSignal::Usr2,
        _ => return None,
    };
    let condition = Condition::Signal(signal);
    args.session.triggers.iter().any(|rule| rule.condition == condition).then_some(condition)
}

/// Returns whether a signal is the condition of a trigger, so that it is not forwarded.
pub(super) fn takes(args: &RecordArgs, signal: i32) -> bool {
    signal_condition(args, signal).is_some()
}

/// Refuses triggers on the end of a command if there is none.
pub(super) fn check(args: &RecordArgs) -> Result<()> {
    let is_death = |rule: &TriggerRule| rule.condition == Condition::Death;
    if args.command.is_empty() && args.session.triggers.iter().any(is_death) {
        bail!("the trigger 'death' requires COMMAND{HINT}trace record -- COMMAND");
    }
    Ok(())
}

/// Returns whether a command has ended by a signal or a panic, by its exit status.
pub(super) fn is_death(status: &io::Result<ExitStatus>) -> bool {
    status.as_ref().is_ok_and(|status| status.signal().is_some() || status.code() == Some(PANIC))
}

/// Returns the exit status that a trigger requests, if its condition held. That of the trigger that
/// stopped recording with `exit` comes first. The others are for a command that succeeds, except
/// that of `death`.
pub(super) fn status(args: &RecordArgs, summary: &SessionSummary, command: u8) -> Option<u8> {
    let rules = || args.session.triggers.iter();
    let held = |rule: &&TriggerRule| match rule.cause() {
        Cause::Alert(name) => summary.alerts.contains_key(&name),
        Cause::Condition(text) => summary.conditions.contains_key(&text),
    };
    let applies = |rule: &&TriggerRule| command == exit::OK || rule.condition == Condition::Death;
    let stopped_by = |rule: &&TriggerRule| summary.stopped_by.as_ref() == Some(&rule.cause());
    let exit = rules().filter(stopped_by).find_map(|rule| rule.actions.exit);
    let requested = |rule: &TriggerRule| rule.actions.status.or(rule.actions.exit);
    let mut statuses =
        exit.into_iter().chain(rules().filter(held).filter(applies).filter_map(requested));
    statuses.find(|status| *status != exit::OK).or(exit)
}
