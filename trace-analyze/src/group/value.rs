//! The values that separate rows.

/// The value of a row's events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupValue {
    /// The events have no such argument, or no parent.
    None,
    /// The value as text.
    Text(String),
    /// The values beyond the limit.
    Other,
}

impl GroupValue {
    /// Returns the value as text for tables. An argument can have the same text as the other
    /// variants.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "(none)",
            Self::Text(value) => value,
            Self::Other => "(other values)",
        }
    }

    /// Returns the value for JSON: `None` if the events have none.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        (*self != Self::None).then_some(self.as_str())
    }
}
