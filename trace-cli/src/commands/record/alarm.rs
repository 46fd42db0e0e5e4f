//! Reports of alerts, and their effect on the command.

use trace_manager::{Notice, Trigger, TriggerAction};

use crate::args::Action;
use crate::cli::RecordArgs;

/// What happens to the command when recording has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It has ended, or continues.
    Leave,
    /// It is stopped.
    End,
    /// It is waited for.
    Wait,
}

/// The triggers of the session.
pub(super) fn triggers(args: &RecordArgs) -> Vec<Trigger> {
    let trigger = |trigger: &crate::args::Trigger| Trigger {
        alert: trigger.alert.clone(),
        action: match trigger.action {
            Action::Snapshot => TriggerAction::Snapshot,
            Action::Stop | Action::Exit => TriggerAction::Stop,
        },
    };
    args.triggers.iter().map(trigger).collect()
}

/// Reports an alert. Returns what happens to the command if the alert has stopped recording.
pub(super) fn tell(args: &RecordArgs, notice: &Notice) -> Option<Then> {
    match notice {
        Notice::Snapshot { path, alerts, result: Ok(_) } => {
            crate::say(&format!("{}: snapshot {}", named(alerts), path.display()));
            None
        }
        Notice::Snapshot { alerts, result: Err(error), .. } => {
            crate::say(&format!("{}: no snapshot: {error}", named(alerts)));
            None
        }
        Notice::NoMoreSnapshots { alert } => {
            crate::say(&format!("alert \"{alert}\": no more snapshots, the limit is reached"));
            None
        }
        Notice::Stopping { alert } => Some(stopping(args, alert)),
        _ => None,
    }
}

fn stopping(args: &RecordArgs, alert: &str) -> Then {
    let exits = args.triggers.iter().any(|it| it.alert == alert && it.action == Action::Exit);
    let (then, what) = match (args.command.is_empty(), exits) {
        (true, _) => (Then::Leave, "recording ends"),
        (false, true) => (Then::End, "recording ends, and the command is stopped"),
        (false, false) => (Then::Wait, "recording ends, and the command continues"),
    };
    crate::say(&format!("alert \"{alert}\": {what}"));
    then
}

fn named(alerts: &[String]) -> String {
    let names: Vec<String> = alerts.iter().map(|alert| format!("\"{alert}\"")).collect();
    let what = if names.len() == 1 { "alert" } else { "alerts" };
    format!("{what} {}", names.join(", "))
}
