//! What to say of categories that were asked for and are not there.

use std::collections::BTreeSet;

use trace_convert::visible;
use trace_protocol::categories::CategorySet;

use crate::say;

/// The category of what the tracing system says of itself.
const OWN: &str = "trace";

/// Says that there is nothing of a category, for who may have misspelt it.
pub(crate) fn no_event<'a>(category: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: BTreeSet<&str> = known.into_iter().filter(|known| *known != OWN).collect();
    let known: Vec<String> = known.iter().map(|name| visible(name).into_owned()).collect();
    match &known[..] {
        [] => format!("no event of category '{category}': none is known"),
        known => format!("no event of category '{category}': known are {}", known.join(", ")),
    }
}

/// Tells of which categories that were asked for an archive has no event;
/// returns whether there are such.
pub(crate) fn tell(asked: &CategorySet, categories: &BTreeSet<String>) -> bool {
    let known: Vec<&str> = categories.iter().map(String::as_str).collect();
    let unmatched = asked.unmatched(&known);
    for category in &unmatched {
        say(&no_event(category, known.iter().copied()));
    }
    !unmatched.is_empty()
}

#[cfg(test)]
mod tests {
    use super::no_event;

    #[test]
    fn what_is_known_is_told_once_and_in_order() {
        let said = no_event("serch", ["walk", "trace", "queue", "walk"]);
        assert_eq!(said, "no event of category 'serch': known are queue, walk");
        assert_eq!(no_event("a", []), "no event of category 'a': none is known");
    }
}
