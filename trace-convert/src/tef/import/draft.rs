//! Drafts of arguments.

use trace_format::layout::{cut_str, MAX_ARGUMENTS, MAX_STRING_BYTES};
use trace_format::{Argument, Value as Fxt};

use super::ids::plain_id;
use crate::tef::event::Event;
use crate::tef::field::Field;
use crate::tef::value::{Text, Value};
use trace_analyze::carried::{is_reserved, ABSENT, ARGUMENT, JSON, PREFIX};

/// A string of a record: a slice of the event, or a range of the draft's own text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Borrowed(&'a str),
    Owned { start: usize, end: usize },
}

impl Part<'_> {
    pub(super) const EMPTY: Part<'static> = Part::Borrowed("");
}

#[derive(Debug, Clone, Copy)]
enum DraftValue<'a> {
    Text(Part<'a>),
    Plain(Fxt<'static>),
}

/// The buffers of a draft, for reuse.
#[derive(Debug, Default)]
pub(super) struct DraftBuffers {
    text: String,
    list: Vec<(Part<'static>, DraftValue<'static>)>,
}

/// Returns an empty list with the same memory and another lifetime. Collecting in place does not
/// allocate, since the items have the same size.
fn emptied(mut list: Vec<(Part<'_>, DraftValue<'_>)>) -> Vec<(Part<'static>, DraftValue<'static>)> {
    list.clear();
    list.into_iter().map(|_| (Part::EMPTY, DraftValue::Plain(Fxt::Null))).collect()
}

/// The arguments of a record in the making, which carry the members of an event that the record
/// cannot express.
///
/// Unescaped strings are in the draft's own text, so that an event needs no allocation.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) event: Event<'a>,
    text: String,
    list: Vec<(Part<'a>, DraftValue<'a>)>,
    /// A bit for each field that the event lacks although its record has it.
    absent: u16,
    /// Whether a record can express the arguments so far.
    pub(super) fits: bool,
}

impl<'a> Draft<'a> {
    /// Starts a draft with reused buffers.
    pub(super) fn new(event: Event<'a>, buffers: DraftBuffers) -> Self {
        let DraftBuffers { mut text, mut list } = buffers;
        text.clear();
        list.clear();
        Self { event, text, list: list.into_iter().collect(), absent: 0, fits: true }
    }

    pub(super) fn into_buffers(self) -> DraftBuffers {
        DraftBuffers { text: self.text, list: emptied(self.list) }
    }

    /// Removes all arguments. Ranges of the draft's text stay valid.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.fits = true;
    }

    /// Returns the start of a string, with at most `bytes` bytes.
    pub(super) fn cut(&self, part: Part<'a>, bytes: usize) -> Part<'a> {
        match part {
            Part::Borrowed(text) => Part::Borrowed(cut_str(text, bytes)),
            Part::Owned { start, .. } => {
                Part::Owned { start, end: start + cut_str(self.of(part), bytes).len() }
            }
        }
    }

    /// Returns the number of arguments.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns whether all arguments are series of a counter.
    pub(super) fn has_only_series(&self) -> bool {
        self.list.iter().all(|(name, value)| {
            let is_number = match value {
                DraftValue::Text(_) => false,
                DraftValue::Plain(value) => !matches!(value, Fxt::Null | Fxt::Bool(_)),
            };
            is_number && !self.of(*name).starts_with(PREFIX)
        })
    }

    /// Returns a string's text.
    #[inline]
    pub(super) fn of(&self, part: Part<'a>) -> &str {
        match part {
            Part::Borrowed(text) => text,
            Part::Owned { start, end } => self.text.get(start..end).unwrap_or_default(),
        }
    }

    /// Unescapes a string.
    #[inline]
    pub(super) fn text(&mut self, text: Text<'a>) -> Part<'a> {
        if let Some(plain) = text.plain() {
            self.fits &= plain.len() <= MAX_STRING_BYTES;
            return Part::Borrowed(plain);
        }
        let start = self.text.len();
        self.fits &= text.unescape(&mut self.text);
        self.part_since(start)
    }

    fn joined(&mut self, prefix: &str, key: Part<'a>) -> Part<'a> {
        let start = self.text.len();
        self.text.push_str(prefix);
        match key {
            Part::Borrowed(key) => self.text.push_str(key),
            Part::Owned { .. } => {
                let key = self.of(key).to_owned();
                self.text.push_str(&key);
            }
        }
        self.part_since(start)
    }

    pub(super) fn format(&mut self, text: std::fmt::Arguments<'_>) -> Part<'a> {
        let start = self.text.len();
        // Writing to a string does not fail.
        let _ = std::fmt::Write::write_fmt(&mut self.text, text);
        self.part_since(start)
    }

    fn part_since(&mut self, start: usize) -> Part<'a> {
        let end = self.text.len();
        self.fits &= end - start <= MAX_STRING_BYTES;
        Part::Owned { start, end }
    }

    #[inline]
    fn push(&mut self, name: Part<'a>, value: DraftValue<'a>) {
        match self.list.len() {
            MAX_ARGUMENTS => self.fits = false,
            _ => self.list.push((name, value)),
        }
    }

    /// Adds an argument that is not a member of the event.
    pub(super) fn own(&mut self, name: &'static str, value: Fxt<'static>) {
        self.push(Part::Borrowed(name), DraftValue::Plain(value));
    }

    /// Notes that the event lacks a member that its record has.
    #[inline]
    pub(super) fn lack(&mut self, field: Field) {
        self.absent |= 1 << field as u16;
    }

    /// Returns whether the event lacks a member that its record has.
    pub(super) fn lacks(&self, field: Field) -> bool {
        self.absent & 1 << field as u16 != 0
    }

    /// Adds the keys of the members that the event lacks.
    pub(super) fn add_absent(&mut self) {
        if self.absent != 0 {
            let is_absent = |bit: &u16| self.absent & 1 << bit != 0;
            let absent = (0..).zip(Field::KEYS).filter(|(bit, _)| is_absent(bit));
            let keys = absent.map(|(_, key)| key).collect::<Vec<_>>().join(",");
            let keys = self.format(format_args!("{keys}"));
            self.push(Part::Borrowed(ABSENT), DraftValue::Text(keys));
        }
    }

    /// Adds a member of `args`.
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
        self.fits &= !is_reserved(self.of(key));
        match self.plain(value) {
            Some(plain) => {
                let name = self.joined(PREFIX, key);
                self.push(name, plain);
            }
            None => self.json(JSON, key, value),
        }
    }

    /// Adds a field of the event, if it has it: the record cannot express it.
    #[inline]
    pub(super) fn carry(&mut self, field: Field) {
        if let Some(value) = self.event.get(field) {
            self.carry_value(field, value);
        }
    }

    #[cold]
    fn carry_value(&mut self, field: Field, value: Value<'a>) {
        self.member(Text::new(field.key(), false), value);
    }

    #[cold]
    fn json(&mut self, prefix: &str, key: Part<'a>, value: Value<'a>) {
        let name = self.joined(prefix, key);
        let json = match value {
            Value::String(text) => self.format(format_args!("\"{}\"", text.written())),
            value => Part::Borrowed(value.written()),
        };
        self.fits &= self.of(json).len() <= MAX_STRING_BYTES;
        self.push(name, DraftValue::Text(json));
    }

    /// Returns a value as an argument's value, `None` if FXT cannot express it.
    #[inline]
    fn plain(&mut self, value: Value<'a>) -> Option<DraftValue<'a>> {
        Some(DraftValue::Plain(match value {
            Value::Null => Fxt::Null,
            Value::Bool(value) => Fxt::Bool(value),
            Value::Number(number) => number.to_fxt()?,
            Value::String(text) => return Some(DraftValue::Text(self.text(text))),
            Value::Nested(json) => Fxt::Pointer(referred(json)?),
        }))
    }

    /// Returns the arguments, stored in `buffer`, which must be large enough.
    #[inline]
    pub(super) fn arguments<'b>(&'b self, buffer: &'b mut [Argument<'b>]) -> &'b [Argument<'b>] {
        for (place, (name, value)) in buffer.iter_mut().zip(&self.list) {
            let value = match value {
                DraftValue::Text(part) => Fxt::String(self.of(*part).into()),
                DraftValue::Plain(value) => *value,
            };
            *place = Argument { name: self.of(*name).into(), value };
        }
        buffer.get(..self.list.len()).unwrap_or_default()
    }
}

/// Returns the id in a reference to an object, if it has the form that our exporter writes.
fn referred(json: &str) -> Option<u64> {
    plain_id(json.strip_prefix("{\"id_ref\":\"")?.strip_suffix("\"}")?)
}
