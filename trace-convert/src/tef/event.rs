//! Events of a document.

use super::parsed::{Entry, Parsed};
use super::scan::Found;
use super::value::{Number, Text, Value};

/// The type of an event, its `ph`.
///
/// The names are those of the format's description. The capital letters of async events, `I` and
/// `P` are deprecated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// `B`
    DurationBegin,
    /// `E`
    DurationEnd,
    /// `X`, with `dur`.
    Complete,
    /// `i`, or the older `I`, with `s`.
    Instant,
    /// `C`, with a number in `args` for each series.
    Counter,
    /// `b`, or the older `S`, with `id`.
    AsyncBegin,
    /// `n`, or the older `T` and `p`, with `id`.
    AsyncInstant,
    /// `e`, or the older `F`, with `id`.
    AsyncEnd,
    /// `s`, with `id`.
    FlowBegin,
    /// `t`, with `id`.
    FlowStep,
    /// `f`, with `id` and perhaps `bp`.
    FlowEnd,
    /// `P`
    Sample,
    /// `N`, with `id`.
    ObjectCreated,
    /// `O`, with `id` and a `snapshot` in `args`.
    ObjectSnapshot,
    /// `D`, with `id`.
    ObjectDestroyed,
    /// `M`, with a `name` such as `process_name`.
    Metadata,
    /// `V`
    GlobalMemoryDump,
    /// `v`
    ProcessMemoryDump,
    /// `R`
    Mark,
    /// `c`
    ClockSync,
    /// `(`
    ContextEnter,
    /// `)`
    ContextLeave,
    /// `=`, with `id` and a `linked_id` in `args`.
    LinkId,
    /// An unknown letter, or no letter.
    Other,
}

impl Phase {
    /// Returns the type for the value of `ph`.
    #[must_use]
    pub fn from_letter(letter: &str) -> Self {
        match letter {
            "B" => Self::DurationBegin,
            "E" => Self::DurationEnd,
            "X" => Self::Complete,
            "i" | "I" => Self::Instant,
            "C" => Self::Counter,
            "b" | "S" => Self::AsyncBegin,
            "n" | "T" | "p" => Self::AsyncInstant,
            "e" | "F" => Self::AsyncEnd,
            "s" => Self::FlowBegin,
            "t" => Self::FlowStep,
            "f" => Self::FlowEnd,
            "P" => Self::Sample,
            "N" => Self::ObjectCreated,
            "O" => Self::ObjectSnapshot,
            "D" => Self::ObjectDestroyed,
            "M" => Self::Metadata,
            "V" => Self::GlobalMemoryDump,
            "v" => Self::ProcessMemoryDump,
            "R" => Self::Mark,
            "c" => Self::ClockSync,
            "(" => Self::ContextEnter,
            ")" => Self::ContextLeave,
            "=" => Self::LinkId,
            _ => Self::Other,
        }
    }
}

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

    /// Returns the event's type; [`Phase::Other`] if it has none.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.letter() {
            Some(Value::String(letter)) => Phase::from_letter(&letter.to_str()),
            _ => Phase::Other,
        }
    }

    /// Returns `ph`.
    pub(super) fn letter(&self) -> Option<Value<'a>> {
        self.found(self.parsed.phase)
    }

    /// Returns `name`.
    #[must_use]
    pub fn name(&self) -> Option<Value<'a>> {
        self.found(self.parsed.name)
    }

    /// Returns `cat`, a list of categories with commas between them.
    #[must_use]
    pub fn category(&self) -> Option<Value<'a>> {
        self.found(self.parsed.category)
    }

    /// Returns `ts`, in microseconds.
    #[must_use]
    pub fn timestamp(&self) -> Option<Value<'a>> {
        self.found(self.parsed.timestamp)
    }

    /// Returns `dur`, in microseconds.
    #[must_use]
    pub fn duration(&self) -> Option<Value<'a>> {
        self.found(self.parsed.duration)
    }

    /// Returns `pid`.
    #[must_use]
    pub fn process(&self) -> Option<Value<'a>> {
        self.found(self.parsed.process)
    }

    /// Returns `tid`.
    #[must_use]
    pub fn thread(&self) -> Option<Value<'a>> {
        self.found(self.parsed.thread)
    }

    /// Returns `id`.
    #[must_use]
    pub fn id(&self) -> Option<Value<'a>> {
        self.found(self.parsed.id)
    }

    /// Returns `s`, the scope of an instant.
    #[must_use]
    pub fn scope(&self) -> Option<Value<'a>> {
        self.found(self.parsed.instant_scope)
    }

    /// Returns `args`; see also [`Event::arguments`].
    #[must_use]
    pub fn args(&self) -> Option<Value<'a>> {
        self.found(self.parsed.args)
    }

    /// Returns the members of `args`; none if it is not an object.
    pub fn arguments(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let text = self.text;
        self.parsed.arguments.iter().map(move |entry| pair(text, entry))
    }

    /// Returns the members without a method, such as `tts`, `tdur`, `bp`, `id2`, `scope`, `cname`,
    /// `sf` and `stack`.
    pub fn others(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let text = self.text;
        self.parsed.others.iter().map(move |entry| pair(text, entry))
    }

    /// Returns a member of [`Event::others`] by its key.
    #[must_use]
    pub fn other(&self, key: &str) -> Option<Value<'a>> {
        let others = self.others().filter(|(found, _)| *found.to_str() == *key);
        others.last().map(|(_, value)| value)
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

    fn found(&self, found: Option<Found>) -> Option<Value<'a>> {
        found.map(|found| Value::of(self.text, found))
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
    (Text::new(entry.key.of(text), entry.is_key_escaped), Value::of(text, entry.value))
}
