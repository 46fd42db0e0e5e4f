//! Reports of alerts, conditions and other commands, and their effect on the command.

use std::slice;

use trace_convert::visible;
use trace_manager::{Cause, Notice};

use super::commands::Commands;
use crate::cli::RecordArgs;

/// The message that the recording is paused.
pub(super) const PAUSED: &str = "another command pauses the recording; trace resume continues it";

/// The message that the recording continues.
pub(super) const RESUMED: &str = "another command resumes the recording";

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

/// Reports a notice, and runs commands. Returns the action on the command if it has
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
        Notice::Part { path } => {
            commands.on_part(path);
            None
        }
        Notice::GuardFailed { reason } => {
            crate::say(&format!(
                "the guard will not complete the archive if this command is killed: {reason}"
            ));
            None
        }
        Notice::Stopped => {
            super::note(args, PAUSED);
            None
        }
        Notice::StartedAgain => {
            super::note(args, RESUMED);
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
        // The recording is not paused any more.
        Notice::Stopped => {}
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
