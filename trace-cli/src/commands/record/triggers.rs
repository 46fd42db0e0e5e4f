//! Triggers whose alert no program raised.

use trace_convert::visible;
use trace_manager::SessionSummary;

use crate::cli::RecordArgs;
use crate::message::HINT;

/// Returns the alerts of `--trigger` that no program raised.
pub(super) fn not_raised(args: &RecordArgs, summary: &SessionSummary) -> Vec<String> {
    let alerts = args.triggers.iter().map(|trigger| &trigger.alert);
    let mut missing: Vec<String> =
        alerts.filter(|alert| !summary.alerts.contains_key(*alert)).cloned().collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns the message about an alert that no program raised.
pub(super) fn advice(alert: &str, summary: &SessionSummary) -> String {
    let raised: Vec<String> =
        summary.alerts.keys().map(|name| format!("\"{}\"", visible(name))).collect();
    let message = format!("no program raised the alert \"{}\" of --trigger", visible(alert));
    match raised.is_empty() {
        true => message,
        false => format!("{message}{HINT}alerts of this recording: {}", raised.join(", ")),
    }
}
