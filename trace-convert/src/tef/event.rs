//! One event of a document.

use super::parsed::{Entry, Parsed};
use super::scan::Found;
use super::value::{Number, Text, Value};

/// What an event is, its `ph`.
///
/// The names are those of the format's description; the letters in capitals of async events are
/// deprecated, and so are `I` and `P`.
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
    /// `M`: `name` says what it is about, as `process_name`.
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
    /// A letter that the format does not have, or no letter at all.
    Other,
}

impl Phase {
    /// Returns what an event with this `ph` is.
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

/// An event as it stands in a document.
///
/// Any member can be missing, or not be what the format says: members come as the [`Value`]s they
/// have. Where a member comes twice the last one counts.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub(super) text: &'a str,
    pub(super) parsed: &'a Parsed,
}

impl<'a> Event<'a> {
    /// Returns the whole event, one JSON object.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns what it is; [`Phase::Other`] if it does not say.
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

    /// Returns `s`, how far an instant reaches.
    #[must_use]
    pub fn scope(&self) -> Option<Value<'a>> {
        self.found(self.parsed.instant_scope)
    }

    /// Returns `args`; see also [`Event::arguments`].
    #[must_use]
    pub fn args(&self) -> Option<Value<'a>> {
        self.found(self.parsed.args)
    }

    /// Returns what is in `args`, nothing if it is no object.
    pub fn arguments(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let text = self.text;
        self.parsed.arguments.iter().map(move |entry| pair(text, entry))
    }

    /// Returns the members that have no method of their own, such as `tts`, `tdur`, `bp`, `id2`,
    /// `scope`, `cname`, `sf` and `stack`.
    pub fn others(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let text = self.text;
        self.parsed.others.iter().map(move |entry| pair(text, entry))
    }

    /// Returns the member with this key of those that [`Event::others`] returns.
    #[must_use]
    pub fn other(&self, key: &str) -> Option<Value<'a>> {
        let others = self.others().filter(|(found, _)| *found.to_str() == *key);
        others.last().map(|(_, value)| value)
    }

    /// Returns a number of microseconds in whole nanoseconds, rounded down; `None` if it is no
    /// number, negative, or beyond 584 years. A number may stand in quotes.
    #[must_use]
    pub fn nanos(value: Value<'a>) -> Option<u64> {
        with_number(value, |number| number.to_nanos().map(|(nanos, _)| nanos))
    }

    /// Returns a number of microseconds in whole nanoseconds, rounded down, and whether that is all
    /// there was; `None` if it is no number, or farther than 584 years from 0.
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
