//! Reports of alerts, and their effect on the command.

use trace_manager::{Notice, Trigger, TriggerAction};

use crate::args::Action;
use crate::cli::RecordArgs;

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

/// Returns the triggers of the session.
pub(super) fn triggers(args: &RecordArgs) -> Vec<Trigger> {
    let trigger = |trigger: &crate::args::Trigger| Trigger {
        alert: trigger.alert.clone(),
        action: match trigger.action {
            Action::Snapshot => TriggerAction::Snapshot,
            Action::Stop | Action::Exit => TriggerAction::Stop,
        },
    };
    args.session.triggers.iter().map(trigger).collect()
}

/// Reports an alert. Returns the action on the command if the alert has stopped recording.
pub(super) fn report(args: &RecordArgs, notice: &Notice) -> Option<CommandAction> {
    match notice {
        Notice::Snapshot { path, alerts, result: Ok(_) } => {
            super::note(args, &format!("{}snapshot {}", prefix(alerts), path.display()));
            None
        }
        Notice::Snapshot { alerts, result: Err(error), .. } => {
            crate::say(&format!("{}no snapshot: {error}", prefix(alerts)));
            None
        }
        Notice::GuardFailed { reason } => {
            crate::say(&format!(
                "the guard will not complete the archive if this command is killed: {reason}"
            ));
            None
        }
        Notice::Stopping { alert } => Some(stopping(args, alert)),
        _ => None,
    }
}

fn stopping(args: &RecordArgs, alert: &str) -> CommandAction {
    let exits =
        args.session.triggers.iter().any(|it| it.alert == alert && it.action == Action::Exit);
    let (action, what) = match (args.command.is_empty(), exits) {
        (true, _) => (CommandAction::Leave, "recording ends"),
        (false, true) => (CommandAction::End, "recording ends, and the command is stopped"),
        (false, false) => (CommandAction::Wait, "recording ends, and the command continues"),
    };
    super::note(args, &format!("alert \"{alert}\": {what}"));
    action
}

/// Returns the alerts of a snapshot, before a message about it. A snapshot on demand has none.
fn prefix(alerts: &[String]) -> String {
    if alerts.is_empty() {
        return String::new();
    }
    let names: Vec<String> = alerts.iter().map(|alert| format!("\"{alert}\"")).collect();
    let what = if names.len() == 1 { "alert" } else { "alerts" };
    format!("{what} {}: ", names.join(", "))
}
