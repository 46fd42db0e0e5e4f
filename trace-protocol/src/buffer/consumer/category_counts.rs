//! Counts events by category, in bounded memory: categories are text of a provider.

use std::collections::BTreeMap;

/// The most categories that are counted.
const MAX_CATEGORIES: usize = 4096;

/// The longest category that is counted, in bytes.
const MAX_NAME: usize = 100;

/// Events by category, for categories without a string index.
#[derive(Clone, Debug, Default)]
pub struct CategoryCounts(BTreeMap<Box<str>, u64>);

impl CategoryCounts {
    /// Counts events of a category. Long categories, and those beyond the first few thousand, are
    /// ignored.
    pub fn add(&mut self, category: &str, events: u64) {
        if let Some(count) = self.0.get_mut(category) {
            *count += events;
        } else if let Some(category) =
            Self::name(category).filter(|_| self.0.len() < MAX_CATEGORIES)
        {
            self.0.insert(category, events);
        }
    }

    /// Returns the counted categories.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(category, events)| (&**category, *events))
    }

    /// Returns a copy of a name that may be a category; `None` if it is too long to be kept.
    pub fn name(text: &str) -> Option<Box<str>> {
        (text.len() <= MAX_NAME).then(|| text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_the_length_of_categories_are_limited() {
        let mut counts = CategoryCounts::default();
        counts.add(&"x".repeat(MAX_NAME + 1), 1);
        assert_eq!(counts.iter().count(), 0);
        for number in 0..MAX_CATEGORIES + 10 {
            counts.add(&number.to_string(), 1);
        }
        counts.add("0", 2);
        assert_eq!(counts.iter().count(), MAX_CATEGORIES);
        assert_eq!(counts.iter().find(|(name, _)| *name == "0"), Some(("0", 3)));
    }
}
