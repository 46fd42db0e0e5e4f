//! Names that resemble a wrong one.

/// Returns the items in the order of the distances of their names from `text`.
pub(crate) fn nearest<T>(text: &str, mut items: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    items.sort_by_cached_key(|item| distance(text, &name(item)));
    items
}

/// Returns the number of characters to insert, remove or replace between two texts.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (number, of_from) in from.chars().enumerate() {
        let mut before = number;
        let mut last = number + 1;
        for (of_to, cell) in to.iter().zip(row.iter_mut().skip(1)) {
            let replaced = before + usize::from(of_from != *of_to);
            before = *cell;
            last = replaced.min(before + 1).min(last + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = number + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_numbers_of_changes() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("server", "sever", 1),
            ("sever", "server", 1),
            ("kitten", "sitting", 3),
            ("äb", "ab", 1),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn items_are_in_the_order_of_their_distances() {
        let found = nearest("webb", vec!["database", "web", "webs"], |name| (*name).to_owned());
        assert_eq!(found, ["web", "webs", "database"]);
    }
}
