//! Conditions on the values of arguments.

use trace_format::{Event, Item, Value};

use super::{named, to_json, unsigned};

/// The most conditions.
pub const MAX_CONDITIONS: usize = 64;

/// An argument and its value, such as `url=/cart`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    key: String,
    value: String,
    /// The value as an id, such as 42 or 0x2a.
    number: Option<u64>,
}

impl Condition {
    /// Creates the condition that an argument has a value. A number can be decimal, or hexadecimal
    /// with `0x`.
    #[must_use]
    pub fn new(key: &str, value: &str) -> Self {
        let number = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        Self { key: key.to_owned(), value: value.to_owned(), number }
    }

    /// Returns whether an event meets the condition.
    #[must_use]
    pub fn is_met(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        named(item, &event.arguments, &self.key).any(|value| self.admits(item, value))
    }

    fn admits(&self, item: &Item<'_>, value: Value<'_>) -> bool {
        let text = match value {
            Value::String(text) => item.text(text).into_owned(),
            value => match to_json(item, value) {
                serde_json::Value::String(text) => text,
                value => value.to_string(),
            },
        };
        text == self.value || (self.number.is_some() && unsigned(item, value) == self.number)
    }
}

/// The conditions that an operation meets: a bit for each. Its begin and its end have arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Met(u64);

impl Met {
    /// Returns the conditions that an event meets, of the first [`MAX_CONDITIONS`].
    #[must_use]
    pub fn new(conditions: &[Condition], item: &Item<'_>, event: &Event<'_>) -> Self {
        let met = conditions.iter().take(MAX_CONDITIONS).enumerate();
        let met = met.filter(|(_, condition)| condition.is_met(item, event));
        Self(met.fold(0, |bits, (place, _)| bits | 1 << place))
    }

    /// Returns the conditions that one of two events meets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether all conditions are met.
    #[must_use]
    pub fn is_all(self, conditions: &[Condition]) -> bool {
        self.0.count_ones() as usize == conditions.len().min(MAX_CONDITIONS)
    }
}
