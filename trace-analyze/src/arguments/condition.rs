//! Conditions on the values of arguments.

use trace_format::{Event, Item, Value};

use super::{named, to_json, unsigned};

/// The most conditions.
pub const MAX_CONDITIONS: usize = 32;

/// An argument and its value, such as `url=/cart`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    key: String,
    value: String,
    /// The value as an id, such as 42 or 0x2a.
    number: Option<u64>,
}

impl Condition {
    /// Creates the condition that an argument has a value, or with `*` at its end, that a text
    /// starts with it. A number can be decimal, or hexadecimal with `0x`. A text can be in quotes,
    /// as `Debug` prints it.
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
        self.admits_text(&text)
            || unquoted(&text).is_some_and(|text| self.admits_text(text))
            || (self.number.is_some() && unsigned(item, value) == self.number)
    }

    fn admits_text(&self, text: &str) -> bool {
        let start = self.value.strip_suffix('*');
        text == self.value || start.is_some_and(|start| text.starts_with(start))
    }
}

/// Returns a text without its quotes.
fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// The conditions that an operation meets: a bit for each. Its begin and its end have arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Met(u32);

impl Met {
    /// Returns the conditions that an event meets, of the first [`MAX_CONDITIONS`].
    #[must_use]
    pub fn new(conditions: &[Condition], item: &Item<'_>, event: &Event<'_>) -> Self {
        let met = conditions.iter().take(MAX_CONDITIONS).enumerate();
        let met = met.filter(|(_, condition)| condition.is_met(item, event));
        Self(met.fold(0, |bits, (place, _)| bits | 1 << place))
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
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

#[cfg(test)]
mod tests {
    use trace_format::{Argument, Reader, Record};

    use super::*;
    use crate::testing::{archive, event};

    /// Returns whether an event with this value of `key` meets `key=condition`.
    fn is_met(value: Value<'_>, condition: &str) -> bool {
        let arguments = [Argument::new("key", value)];
        let archive = archive(&[event(trace_format::EventKind::DurationBegin, &arguments)]);
        let mut reader = Reader::new(&*archive);
        while let Some(item) = reader.next().unwrap() {
            let Record::Event(event) = &item.record else { continue };
            return Condition::new("key", condition).is_met(&item, event);
        }
        unreachable!("the archive has an event")
    }

    #[test]
    fn a_text_is_equal_or_starts_with_the_value() {
        for (condition, expected) in [
            ("/item/7", true),
            ("/item/*", true),
            ("*", true),
            ("/item/", false),
            ("/cart*", false),
        ] {
            assert_eq!(is_met(Value::String("/item/7".into()), condition), expected, "{condition}");
        }
        assert!(is_met(Value::String("2*".into()), "2*"));
    }

    #[test]
    fn quotes_of_debug_can_be_omitted() {
        for condition in ["user1", "user*", "\"user1\"", "\"user*"] {
            assert!(is_met(Value::String("\"user1\"".into()), condition), "{condition}");
        }
        assert!(!is_met(Value::String("\"user1".into()), "user1"));
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert!(is_met(Value::Uint64(42), "42") && is_met(Value::Uint64(42), "0x2a"));
        assert!(!is_met(Value::Uint64(42), "43"));
    }
}
