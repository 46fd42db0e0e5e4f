//! Messages about selected categories that have no events.

use std::collections::BTreeSet;

use trace_convert::visible;
use trace_protocol::categories::CategorySet;

use crate::message::{say, HINT};

/// The category of the tracing system's own events.
const OWN: &str = "trace";

/// Returns a message that a category has no event; its name may be misspelt.
pub(crate) fn no_event<'a>(category: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: BTreeSet<&str> = known.into_iter().filter(|known| *known != OWN).collect();
    let known: Vec<String> = known.iter().map(|name| visible(name).into_owned()).collect();
    match &known[..] {
        [] => format!("no event of category '{category}'{HINT}the trace has no categories"),
        known => format!(
            "no event of category '{category}'{HINT}the categories are {}",
            known.join(", ")
        ),
    }
}

/// Reports the selected categories without events, and returns whether there are any.
pub(crate) fn warn(selected: &CategorySet, categories: &BTreeSet<String>) -> bool {
    let known: Vec<&str> = categories.iter().map(String::as_str).collect();
    let unmatched = selected.unmatched(&known);
    for category in &unmatched {
        say(&no_event(category, known.iter().copied()));
    }
    !unmatched.is_empty()
}

#[cfg(test)]
mod tests {
    use super::no_event;

    #[test]
    fn known_categories_are_listed_once_and_in_order() {
        let said = no_event("serch", ["walk", "trace", "queue", "walk"]);
        assert_eq!(said, "no event of category 'serch'\nhint: the categories are queue, walk");
        assert_eq!(
            no_event("a", []),
            "no event of category 'a'\nhint: the trace has no categories"
        );
    }
}
