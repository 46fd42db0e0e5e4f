//! Triggers of a recording.

use trace_manager::{TriggerRule, TriggerUser};

/// Parses `CONDITION[:ACTION…]`; see [`TriggerRule`].
pub(crate) fn parse_trigger(text: &str) -> Result<TriggerRule, String> {
    text.parse()
}

/// Parses a user of triggers: a number, or `all`.
pub(crate) fn parse_trigger_user(text: &str) -> Result<TriggerUser, String> {
    text.parse()
}
