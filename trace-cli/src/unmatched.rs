//! Messages about selected categories, names and arguments that no event has.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{anyhow, Error, Result};
use trace_analyze::stats::{GroupValue, Row};
use trace_convert::visible;

use crate::cli::Selection;
use crate::message::{say, HINT};
use crate::names::{escaped, Unmatched};

/// The category of the tracing system's own events.
const OWN: &str = "trace";

/// The least likeness of names in a hint, from 0 to 1 (Jaro-Winkler).
const MIN_LIKENESS: f64 = 0.8;

/// The most names in a hint.
const MAX_LISTED: usize = 3;

/// Returns a message that a category has no event; its name may be misspelt.
pub(crate) fn no_event<'a>(category: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: BTreeSet<&str> = known.into_iter().filter(|known| *known != OWN).collect();
    if known.contains(category) {
        return format!("no event of category '{category}': none of its trace points was reached");
    }
    let known: Vec<String> = known.iter().map(|name| visible(name).into_owned()).collect();
    match &known[..] {
        [] => format!("no event of category '{category}'{HINT}the trace has no categories"),
        known => format!(
            "no event of category '{category}'{HINT}the categories are {}",
            known.join(", ")
        ),
    }
}

/// Fails if no event has a selected category or name. A pattern with a `*` that selects nothing is
/// reported. `labels` has the categories and names of all events.
pub(crate) fn refuse<'a>(
    selection: &Selection,
    labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Result<()> {
    let mut failed: Option<Error> = None;
    for (is_prefix, message) in messages(selection, labels) {
        if is_prefix {
            say(&message);
        } else if let Some(before) = failed.replace(anyhow!(message)) {
            say(&before.to_string());
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Returns whether each selected category and name is among the labels.
pub(crate) fn is_none<'a>(
    selection: &Selection,
    labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> bool {
    messages(selection, labels).is_empty()
}

/// Returns a message for each pattern that selects nothing, and whether the pattern has a `*`.
fn messages<'a>(
    selection: &Selection,
    labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Vec<(bool, String)> {
    let filter = selection.filter();
    let categories: BTreeSet<&str> = labels.clone().map(|(category, _)| category).collect();
    let categories: Vec<&str> = categories.into_iter().collect();
    let unmatched = filter.categories.unmatched(&categories).into_iter();
    let of_category =
        |text: &str| (text.ends_with('*'), no_event(text, categories.iter().copied()));
    let messages: Vec<_> = unmatched.map(of_category).collect();
    if !messages.is_empty() {
        return messages;
    }
    let labels = labels.filter(|(category, _)| filter.categories.matches(category));
    let unmatched = filter.names.unmatched(labels.clone());
    let is_part = !selection.categories.is_empty();
    let of_name = |name: &Unmatched<'_>| (name.is_prefix, no_name(name, is_part, labels.clone()));
    unmatched.iter().map(of_name).collect()
}

/// Returns whether rows have no value of the argument that separates them.
pub(crate) fn has_no_value<'a>(rows: impl IntoIterator<Item = &'a Row>) -> bool {
    let is_none =
        |row: &Row| row.group.as_ref().is_some_and(|group| group.value == Some(GroupValue::None));
    let mut rows = rows.into_iter().peekable();
    rows.peek().is_some() && rows.all(is_none)
}

/// Returns the error that no event has the argument `key`.
pub(crate) fn no_argument(path: &Path, key: &str) -> Error {
    let (path, key) = (path.display(), visible(key));
    anyhow!("no event has the argument '{key}'{HINT}list arguments with trace info {path}")
}

/// Returns a message that no event has a name, with the names that resemble it, as `-n` accepts
/// them.
fn no_name<'a>(
    name: &Unmatched<'_>,
    is_part: bool,
    labels: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let known: BTreeSet<String> = labels
        .map(|(category, known)| match name.text.contains(':') {
            true => format!("{category}:{known}"),
            false => known.to_owned(),
        })
        .collect();
    let mut alike: Vec<(f64, &str)> =
        known.iter().map(|known| (strsim::jaro_winkler(name.text, known), &**known)).collect();
    alike.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown = |known: &str| format!("'{}'", visible(&escaped(known)));
    let listed: Vec<String> =
        alike.iter().take(MAX_LISTED).map(|(_, known)| shown(known)).collect();
    let hint = match &listed[..] {
        [] => String::new(),
        listed => format!("{HINT}did you mean {}?", listed.join(" or ")),
    };
    let of = if is_part { " of the selected categories" } else { "" };
    format!("no event{of} is named '{}'{hint}", visible(&name.pattern()))
}

#[cfg(test)]
mod tests {
    use super::{no_event, no_name, Unmatched};

    #[test]
    fn names_that_resemble_are_listed() {
        let known =
            [("ui", "render"), ("ui", "renderer"), ("ui", "parse"), ("ui", "sum(int, int)")];
        let said = |text, is_part| {
            no_name(&Unmatched { text, is_prefix: false }, is_part, known.into_iter())
        };
        assert_eq!(
            said("rendr", false),
            "no event is named 'rendr'\nhint: did you mean 'render' or 'renderer'?"
        );
        assert_eq!(
            said("ui:pase", false),
            "no event is named 'ui:pase'\nhint: did you mean 'ui:parse'?"
        );
        assert_eq!(
            said("sum(int,int)", false),
            "no event is named 'sum(int\\,int)'\nhint: did you mean 'sum(int\\, int)'?"
        );
        assert_eq!(said("zzz", false), "no event is named 'zzz'");
        assert_eq!(said("zzz", true), "no event of the selected categories is named 'zzz'");
    }

    #[test]
    fn known_categories_are_listed_once_and_in_order() {
        let said = no_event("serch", ["walk", "trace", "queue", "walk"]);
        assert_eq!(said, "no event of category 'serch'\nhint: the categories are queue, walk");
        assert_eq!(
            no_event("a", []),
            "no event of category 'a'\nhint: the trace has no categories"
        );
        let said = no_event("walk", ["walk", "queue"]);
        assert_eq!(said, "no event of category 'walk': none of its trace points was reached");
    }
}
