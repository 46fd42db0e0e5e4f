//! Messages about selected categories and names that have no events.

use std::collections::BTreeSet;
use std::path::Path;

use trace_analyze::stats::{GroupValue, Row};
use trace_convert::visible;
use trace_protocol::categories::CategorySet;

use crate::message::{say, HINT};

/// The category of the tracing system's own events.
const OWN: &str = "trace";

/// The least likeness of names in a hint, from 0 to 1 (Jaro-Winkler).
const MIN_LIKENESS: f64 = 0.8;

/// The most names in a hint.
const MAX_LISTED: usize = 3;

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

/// Reports the selected names without events.
pub(crate) fn warn_of_names(selected: &CategorySet, names: &BTreeSet<String>) {
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in selected.unmatched(&known) {
        say(&no_name(name, &known));
    }
}

/// Reports that no event has the argument `key`, if all rows are without its value.
pub(crate) fn warn_of_argument<'a>(
    path: &Path,
    key: &str,
    rows: impl IntoIterator<Item = &'a Row>,
) {
    let is_none =
        |row: &Row| row.group.as_ref().is_some_and(|group| group.value == Some(GroupValue::None));
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_some() && rows.all(is_none) {
        let (path, key) = (path.display(), visible(key));
        say(&format!(
            "no event has the argument '{key}'{HINT}list arguments with trace info {path}"
        ));
    }
}

/// Returns a message that no event has a name, with the names that resemble it.
fn no_name(name: &str, known: &[&str]) -> String {
    let mut alike: Vec<(f64, &str)> =
        known.iter().map(|known| (strsim::jaro_winkler(name, known), *known)).collect();
    alike.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let listed: Vec<String> =
        alike.iter().take(MAX_LISTED).map(|(_, known)| format!("'{}'", visible(known))).collect();
    match &listed[..] {
        [] => format!("no event is named '{name}'"),
        listed => format!("no event is named '{name}'{HINT}did you mean {}?", listed.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{no_event, no_name};

    #[test]
    fn names_that_resemble_are_listed() {
        let known = ["render", "renderer", "parse"];
        let said = no_name("rendr", &known);
        assert_eq!(said, "no event is named 'rendr'\nhint: did you mean 'render' or 'renderer'?");
        assert_eq!(no_name("zzz", &known), "no event is named 'zzz'");
    }

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
