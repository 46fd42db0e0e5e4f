//! Triggers whose alert no program raised.

use trace_convert::visible;
use trace_manager::SessionSummary;

use super::report::Report;
use crate::message::HINT;

/// Returns the alerts of `--trigger` that no program raised.
pub(super) fn not_raised(report: &Report<'_>, summary: &SessionSummary) -> Vec<String> {
    let alerts = report.triggers.iter().map(|trigger| &trigger.alert);
    let mut missing: Vec<String> =
        alerts.filter(|alert| !summary.alerts.contains_key(*alert)).cloned().collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns messages about alerts that no program raised.
pub(super) fn advice(report: &Report<'_>, summary: &SessionSummary) -> Vec<String> {
    let raised = summary.alerts.keys().map(|name| format!("\"{}\"", visible(name)));
    let hint = match Vec::from_iter(raised).join(", ") {
        raised if raised.is_empty() => raised,
        raised => format!("{HINT}alerts of this recording: {raised}"),
    };
    let message = |alert: String| {
        format!("no program raised the alert \"{}\" of --trigger{hint}", visible(&alert))
    };
    not_raised(report, summary).into_iter().map(message).collect()
}
