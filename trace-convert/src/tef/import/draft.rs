//! The arguments of a record that is being made.

use trace_format::layout::{cut_str, MAX_ARGUMENTS, MAX_STRING_BYTES};
use trace_format::{Argument, Value as Fxt};

use super::ids::plain_id;
use crate::tef::value::{Exact, Number, Text, Value};
use trace_analyze::carried::{is_reserved, known_member, ARGUMENT, JSON, PREFIX};

/// A string of a record: one of the event, or a part of the draft's own text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Given(&'a str),
    Made { start: usize, end: usize },
}

impl Part<'_> {
    pub(super) const EMPTY: Part<'static> = Part::Given("");
}

#[derive(Debug, Clone, Copy)]
enum DraftValue<'a> {
    Text(Part<'a>),
    Plain(Fxt<'static>),
}

/// What a draft takes up, between drafts.
#[derive(Debug, Default)]
pub(super) struct Room {
    made: String,
    list: Vec<(Part<'static>, DraftValue<'static>)>,
}

/// Returns the room of a list for one that borrows from elsewhere: nothing is
/// allocated, since both have items of the same size.
fn emptied(mut list: Vec<(Part<'_>, DraftValue<'_>)>) -> Vec<(Part<'static>, DraftValue<'static>)> {
    list.clear();
    list.into_iter().map(|_| (Part::EMPTY, DraftValue::Plain(Fxt::Null))).collect()
}

/// The arguments of a record that is being made.
///
/// Strings with escapes are put into a text of its own, so that nothing is
/// allocated for an event.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    made: String,
    list: Vec<(Part<'a>, DraftValue<'a>)>,
    /// Whether all fits a record so far.
    pub(super) fits: bool,
}

impl<'a> Draft<'a> {
    /// `room` is used again.
    pub(super) fn new(room: Room) -> Self {
        let Room { mut made, mut list } = room;
        made.clear();
        list.clear();
        Self { made, list: list.into_iter().collect(), fits: true }
    }

    pub(super) fn into_room(self) -> Room {
        Room { made: self.made, list: emptied(self.list) }
    }

    /// Takes all arguments away; parts of the draft's text stay what they are.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.fits = true;
    }

    /// Returns the start of a part, at most so many bytes.
    pub(super) fn cut(&self, part: Part<'a>, bytes: usize) -> Part<'a> {
        match part {
            Part::Given(text) => Part::Given(cut_str(text, bytes)),
            Part::Made { start, .. } => {
                Part::Made { start, end: start + cut_str(self.of(part), bytes).len() }
            }
        }
    }

    /// Returns how many arguments there are.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Tells whether all arguments are series of a counter.
    pub(super) fn has_only_series(&self) -> bool {
        self.list.iter().all(|(name, value)| {
            let is_number = match value {
                DraftValue::Text(_) => false,
                DraftValue::Plain(value) => !matches!(value, Fxt::Null | Fxt::Bool(_)),
            };
            is_number && !self.of(*name).starts_with(PREFIX)
        })
    }

    /// Returns what a part is.
    #[inline]
    pub(super) fn of(&self, part: Part<'a>) -> &str {
        match part {
            Part::Given(text) => text,
            Part::Made { start, end } => self.made.get(start..end).unwrap_or_default(),
        }
    }

    /// Returns a string without its escapes.
    #[inline]
    pub(super) fn text(&mut self, text: Text<'a>) -> Part<'a> {
        if let Some(plain) = text.plain() {
            self.fits &= plain.len() <= MAX_STRING_BYTES;
            return Part::Given(plain);
        }
        let start = self.made.len();
        self.fits &= text.unescape(&mut self.made);
        self.made_since(start)
    }

    fn joined(&mut self, prefix: &str, key: &str) -> Part<'a> {
        let start = self.made.len();
        self.made.push_str(prefix);
        self.made.push_str(key);
        self.made_since(start)
    }

    pub(super) fn format(&mut self, text: std::fmt::Arguments<'_>) -> Part<'a> {
        let start = self.made.len();
        // Writing to a string does not fail.
        let _ = std::fmt::Write::write_fmt(&mut self.made, text);
        self.made_since(start)
    }

    fn made_since(&mut self, start: usize) -> Part<'a> {
        let end = self.made.len();
        self.fits &= end - start <= MAX_STRING_BYTES;
        Part::Made { start, end }
    }

    #[inline]
    fn push(&mut self, name: Part<'a>, value: DraftValue<'a>) {
        match self.list.len() {
            MAX_ARGUMENTS => self.fits = false,
            _ => self.list.push((name, value)),
        }
    }

    /// Adds an argument of ours.
    pub(super) fn own(&mut self, name: &'static str, value: Fxt<'static>) {
        self.push(Part::Given(name), DraftValue::Plain(value));
    }

    /// Adds an argument of ours that is a string.
    pub(super) fn own_text(&mut self, name: &'static str, value: Part<'a>) {
        self.push(Part::Given(name), DraftValue::Text(value));
    }

    /// Adds something of `args`.
    #[inline]
    pub(super) fn argument(&mut self, key: Text<'a>, value: Value<'a>) {
        let name = self.text(key);
        self.fits &= !self.of(name).starts_with(PREFIX);
        match self.plain(value) {
            Some(value) => self.push(name, value),
            None => self.json(ARGUMENT, name, value),
        }
    }

    /// Adds a member of the event.
    #[inline]
    pub(super) fn member(&mut self, key: Text<'a>, value: Value<'a>) {
        let key = self.text(key);
        let known = known_member(self.of(key));
        self.fits &= known.is_some() || !is_reserved(self.of(key));
        let Some(plain) = self.plain(value) else {
            return self.json(JSON, key, value);
        };
        let name = match known {
            Some(name) => Part::Given(name),
            None => {
                let key = self.of(key).to_owned();
                self.joined(PREFIX, &key)
            }
        };
        self.push(name, plain);
    }

    /// Adds a member of the event whose key is known here.
    pub(super) fn known_member(&mut self, key: &'static str, value: Value<'a>) {
        self.member(Text::new(key, false), value);
    }

    #[cold]
    fn json(&mut self, prefix: &str, key: Part<'a>, value: Value<'a>) {
        let key = self.of(key).to_owned();
        let name = self.joined(prefix, &key);
        let json = match value {
            Value::Nested(json) => Part::Given(json),
            Value::Number(number) => Part::Given(number.written()),
            Value::String(text) => self.format(format_args!("\"{}\"", text.written())),
            Value::Null => Part::Given("null"),
            Value::Bool(value) => Part::Given(if value { "true" } else { "false" }),
        };
        self.fits &= self.of(json).len() <= MAX_STRING_BYTES;
        self.push(name, DraftValue::Text(json));
    }

    /// Returns a value as FXT has it, `None` if it does not.
    #[inline]
    fn plain(&mut self, value: Value<'a>) -> Option<DraftValue<'a>> {
        Some(DraftValue::Plain(match value {
            Value::Null => Fxt::Null,
            Value::Bool(value) => Fxt::Bool(value),
            Value::Number(number) => plain_number(number)?,
            Value::String(text) => return Some(DraftValue::Text(self.text(text))),
            Value::Nested(json) => Fxt::Pointer(referred(json)?),
        }))
    }

    /// Returns the arguments, in `room`, which has enough of it.
    #[inline]
    pub(super) fn arguments<'b>(&'b self, room: &'b mut [Argument<'b>]) -> &'b [Argument<'b>] {
        for (place, (name, value)) in room.iter_mut().zip(&self.list) {
            let value = match value {
                DraftValue::Text(part) => Fxt::String(self.of(*part).into()),
                DraftValue::Plain(value) => *value,
            };
            *place = Argument { name: self.of(*name).into(), value };
        }
        room.get(..self.list.len()).unwrap_or_default()
    }
}

/// Returns the id in a reference to an object that is written as ours are.
fn referred(json: &str) -> Option<u64> {
    plain_id(json.strip_prefix("{\"id_ref\":\"")?.strip_suffix("\"}")?)
}

/// Returns a number in the smallest type that has it.
fn plain_number(number: Number<'_>) -> Option<Fxt<'static>> {
    Some(match number.exact()? {
        Exact::Signed(value) => match (i32::try_from(value), u32::try_from(value)) {
            (Ok(value), _) => Fxt::Int32(value),
            (_, Ok(value)) => Fxt::Uint32(value),
            _ => Fxt::Int64(value),
        },
        Exact::Unsigned(value) => Fxt::Uint64(value),
        Exact::Double(value) => Fxt::Double(value),
    })
}
