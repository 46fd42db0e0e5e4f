//! Conditions of triggers that the recorder evaluates, signals and the end of the command, and the
//! exit statuses of triggers.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{bail, Result};
use trace_convert::visible;
use trace_manager::{Cause, Condition, SessionSummary, TriggerRule, TriggerSignal};

use super::child::Child;
use crate::cli::RecordArgs;
use crate::exit;
use crate::input::STANDARD;
use crate::message::{say, HINT};

/// The exit status of a Rust program whose main thread panicked.
const PANIC: i32 = 101;

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

/// Refuses commands of triggers that have no archive.
pub(super) fn check(args: &RecordArgs) -> Result<()> {
    let of_archive = |rule: &&TriggerRule| rule.actions.run.is_some() && rule.ends_session();
    if let Some(rule) = args.session.triggers.iter().find(of_archive) {
        if args.session.output == Path::new(STANDARD) {
            bail!(
                "the command of the trigger '{}' requires an archive that is a file",
                visible(&rule.condition.to_string())
            );
        }
    }
    if !args.session.trigger_users.is_empty() && args.attach.is_none() {
        bail!("--trigger-user requires --attach{HINT}a recording of a command heeds all programs");
    }
    let is_part = |rule: &TriggerRule| rule.condition == Condition::Part;
    if args.session.triggers.iter().any(is_part) {
        check_part(args)?;
    }
    let triggers = args.session.triggers.iter();
    triggers
        .filter_map(|rule| too_frequent(rule, args.session.min_interval))
        .for_each(|it| say(&it));
    Ok(())
}

/// Refuses the trigger `part` without parts that this command writes.
fn check_part(args: &RecordArgs) -> Result<()> {
    if args.session.rotate.is_empty() {
        bail!("the trigger 'part' requires an archive that is cut{HINT}use --rotate 64M");
    }
    if args.attach.is_some() {
        bail!(
            "the trigger 'part' requires trace record without --attach{HINT}add it to a session of \
             the daemon's configuration"
        );
    }
    Ok(())
}

/// Returns a message if a trigger holds again before its next snapshot may be taken.
fn too_frequent(rule: &TriggerRule, of_session: Duration) -> Option<String> {
    let Condition::Every(time) = rule.condition else { return None };
    let least = rule.min_interval.unwrap_or(of_session);
    (rule.actions.snapshot && time < least).then(|| {
        format!(
            "the trigger 'every:{time:?}' takes a snapshot every {least:?} only{HINT}use \
             --min-interval {time:?} for more"
        )
    })
}

/// Returns whether a command has ended by a signal or a panic, by its exit status. A signal that
/// was forwarded to it, such as that of Ctrl-C, is the user's.
pub(super) fn is_death(child: &Child, status: &io::Result<ExitStatus>) -> bool {
    let Ok(status) = status else { return false };
    match status.signal() {
        Some(signal) => !child.has_got(signal),
        None => status.code() == Some(PANIC),
    }
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
    let is_death = |rule: &&TriggerRule| rule.condition == Condition::Death;
    let death = || rules().filter(held).filter(is_death).find_map(|rule| rule.actions.status);
    statuses.find(|status| *status != exit::OK).or(exit).or_else(death)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_snapshots_are_limited() {
        let note = |trigger: &str| {
            too_frequent(&trigger.parse().unwrap(), Duration::from_secs(1)).unwrap_or_default()
        };
        assert_eq!(
            note("every:300ms"),
            "the trigger 'every:300ms' takes a snapshot every 1s only\n\
             hint: use --min-interval 300ms for more"
        );
        for trigger in
            ["every:1s", "every:300ms:min-interval=200ms", "every:300ms:stop", "death:snapshot"]
        {
            assert_eq!(note(trigger), "", "{trigger}");
        }
        assert!(note("every:2s:min-interval=1m").contains("every 60s only"));
    }
}
