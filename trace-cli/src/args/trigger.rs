//! Triggers of a recording.

use trace_manager::TriggerRule;

/// Parses `CONDITION[:ACTION…]`; see [`TriggerRule`].
pub(crate) fn parse_trigger(text: &str) -> Result<TriggerRule, String> {
    text.parse()
}
