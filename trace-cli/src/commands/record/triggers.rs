//! Triggers whose condition cannot hold, or was evaluated incompletely or late: their alert was not
//! raised, or no program has their category and name.

use trace_convert::visible;
use trace_manager::{Condition, DurationCondition, SessionSummary};

use super::report::Report;
use crate::insn_session::NEVER;
use crate::message::HINT;

/// Returns the alerts of `--trigger` that no program raised.
fn alerts_not_raised(report: &Report<'_>, summary: &SessionSummary) -> Vec<String> {
    let alerts = report.triggers.iter().filter_map(|rule| match &rule.condition {
        Condition::Alert(name) => Some(name),
        _ => None,
    });
    let mut missing: Vec<String> =
        alerts.filter(|alert| !summary.alerts.contains_key(*alert)).cloned().collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns the triggers that no program raised.
pub(super) fn not_raised(report: &Report<'_>, summary: &SessionSummary) -> Vec<String> {
    let conditions = summary.unknown_conditions.iter().cloned();
    alerts_not_raised(report, summary).into_iter().chain(conditions).collect()
}

/// Returns messages about triggers that no program raised.
pub(super) fn advice(report: &Report<'_>, summary: &SessionSummary) -> Vec<String> {
    let raised = summary.alerts.keys().map(|name| format!("\"{}\"", visible(name)));
    let hint = match Vec::from_iter(raised).join(", ") {
        raised if raised.is_empty() => raised,
        raised => format!("{HINT}alerts of this recording: {raised}"),
    };
    let message = |alert: String| {
        format!("no program raised the alert \"{}\" of --trigger{hint}", visible(&alert))
    };
    let alerts = alerts_not_raised(report, summary).into_iter().map(message);
    let unknown = summary.unknown_conditions.iter().map(|condition| unknown(report, condition));
    let incomplete = summary.incomplete_conditions.iter().map(|condition| incomplete(condition));
    let late = summary.late_conditions.iter().map(|condition| late(condition));
    alerts.chain(unknown).chain(incomplete).chain(late).collect()
}

/// Returns the message about a condition whose category and name no program has.
fn unknown(report: &Report<'_>, condition: &str) -> String {
    if let Some(scope) = armed_scope(report, condition) {
        return format!(
            "no program has the scope {}{HINT}names are those of `trace stats` of DIR/scopes.fxt",
            visible(&scope)
        );
    }
    format!(
        "no program has the category and name of the trigger '{}'{HINT}names are those of trace \
         list and trace stats, and the category must be selected by -c",
        visible(condition)
    )
}

/// Returns the scope if the condition only arms its trace points, for `trace insn record`.
fn armed_scope(report: &Report<'_>, condition: &str) -> Option<String> {
    let rule = report.triggers.iter().find(|rule| rule.condition.to_string() == condition)?;
    match &rule.condition {
        Condition::Duration(DurationCondition { category, name, limit }) if *limit == NEVER => {
            Some(format!("{category}/{name}"))
        }
        _ => None,
    }
}

fn incomplete(condition: &str) -> String {
    format!(
        "the trigger '{}' was not observed completely: records were dropped, or a program had more \
         than 1024 such counters or 4096 such open scopes",
        visible(condition)
    )
}

fn late(condition: &str) -> String {
    format!(
        "the trigger '{}' was evaluated only when a program or the recording ended, for durations \
         that programs do not compare{HINT}record in streaming mode, or trace them with a guard, an \
         attribute or a future and literal names",
        visible(condition)
    )
}
