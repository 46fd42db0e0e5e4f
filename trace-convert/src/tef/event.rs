//! Events of a document.

use super::field::Field;
use super::parsed::{Entry, Parsed};
use super::value::{Number, Text, Value};

/// An event of a document.
///
/// Any member can be missing or have a type that the format does not allow: members are [`Value`]s.
/// If a member is repeated, the last one is used.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub(super) text: &'a str,
    pub(super) parsed: &'a Parsed,
}

impl<'a> Event<'a> {
    /// Returns the JSON of the event, an object.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the letter of the event's type; `None` if it has no letter.
    #[must_use]
    pub fn phase(&self) -> Option<char> {
        let Some(Value::String(text)) = self.get(Field::Phase) else { return None };
        match text.to_str().as_bytes() {
            [letter] => Some(char::from(*letter)),
            _ => None,
        }
    }

    /// Returns a member.
    #[inline]
    #[must_use]
    pub fn get(&self, field: Field) -> Option<Value<'a>> {
        self.parsed.fields[field as usize].map(|found| Value::of(self.text, found))
    }

    /// Returns the members of `args`; none if it is not an object.
    pub fn arguments(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let text = self.text;
        self.parsed.arguments.iter().map(move |entry| pair(text, entry))
    }

    /// Returns the members that are no [`Field`], such as `tts`, `tdur`, `id2`, `scope`, `cname`,
    /// `sf` and `stack`.
    pub fn others(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let text = self.text;
        self.parsed.others.iter().map(move |entry| pair(text, entry))
    }

    /// Returns a member of [`Event::others`] by its key.
    #[must_use]
    pub fn other(&self, key: &str) -> Option<Value<'a>> {
        let mut others = self.parsed.others.iter().rev();
        let found = others.find(|entry| *key_of(self.text, entry).to_str() == *key)?;
        Some(Value::of(self.text, found.value))
    }

    /// Returns the keys of [`Event::arguments`]. It is much faster, because values are not parsed.
    #[inline]
    pub(super) fn argument_keys(&self) -> impl Iterator<Item = Text<'a>> + Clone + 'a {
        let text = self.text;
        self.parsed.arguments.iter().map(move |entry| key_of(text, entry))
    }

    /// Returns the keys of [`Event::others`], as fast as [`Event::argument_keys`].
    #[inline]
    pub(super) fn other_keys(&self) -> impl Iterator<Item = Text<'a>> + Clone + 'a {
        let text = self.text;
        self.parsed.others.iter().map(move |entry| key_of(text, entry))
    }

    /// Returns a number of microseconds in nanoseconds, rounded down; `None` if it is not a number,
    /// negative, or beyond 584 years. The number may be in quotes.
    #[must_use]
    pub fn nanos(value: Value<'a>) -> Option<u64> {
        with_number(value, |number| number.to_nanos().map(|(nanos, _)| nanos))
    }

    /// Returns a number of microseconds in nanoseconds, rounded down, and whether that is exact;
    /// `None` if it is not a number, or farther than 584 years from 0.
    pub(super) fn signed_nanos(value: Value<'a>) -> Option<(i128, bool)> {
        with_number(value, |number| number.to_signed_nanos())
    }
}

/// Converts a number, which may be in quotes.
fn with_number<T>(value: Value<'_>, convert: impl FnOnce(Number<'_>) -> Option<T>) -> Option<T> {
    match value {
        Value::Number(number) => convert(number),
        Value::String(text) => convert(Number::quoted(&text.to_str())?),
        _ => None,
    }
}

fn pair<'a>(text: &'a str, entry: &Entry) -> (Text<'a>, Value<'a>) {
    (key_of(text, entry), Value::of(text, entry.value))
}

#[inline]
fn key_of<'a>(text: &'a str, entry: &Entry) -> Text<'a> {
    Text::new(entry.key.of(text), entry.is_key_escaped)
}
