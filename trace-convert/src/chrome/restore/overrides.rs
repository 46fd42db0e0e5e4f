//! Members that a record carries in addition to its fields.

use std::borrow::Cow;

use trace_format::{Argument, Arguments, Item, Value};

use crate::tef::Field;
use trace_analyze::carried::{ABSENT, ADDED, ARGUMENT, EMPTY_ARGS, JSON, PREFIX};

/// A value as it is carried.
#[derive(Debug, Clone)]
pub(super) enum Carried<'a> {
    Plain(Value<'a>),
    /// JSON text.
    Json(Cow<'a, str>),
}

/// The use of an argument.
#[derive(Debug)]
pub(super) enum Use<'a> {
    /// A member of `args`, with its key.
    Argument(Cow<'a, str>, Carried<'a>),
    /// A member of the event, with its key.
    Member(Cow<'a, str>, Carried<'a>),
    EmptyArgs,
    Absent(Cow<'a, str>),
    Added,
}

impl<'a> Use<'a> {
    #[inline]
    pub(super) fn of(item: &Item<'a>, argument: Argument<'a>) -> Self {
        let name = item.text(argument.name);
        match name.starts_with(PREFIX) {
            true => Self::of_carried(item, name, argument.value),
            false => Self::Argument(name, Carried::Plain(argument.value)),
        }
    }

    fn of_carried(item: &Item<'a>, name: Cow<'a, str>, value: Value<'a>) -> Self {
        let text = |value| match value {
            Value::String(text) => Some(item.text(text)),
            _ => None,
        };
        match (&*name, value) {
            (EMPTY_ARGS, Value::Null) => return Self::EmptyArgs,
            (ADDED, Value::Bool(true)) => return Self::Added,
            (ABSENT, Value::String(keys)) => return Self::Absent(item.text(keys)),
            _ => {}
        }
        if let (Some(key), Some(json)) = (without_prefix(&name, ARGUMENT), text(value)) {
            return Self::Argument(key, Carried::Json(json));
        }
        if let (Some(key), Some(json)) = (without_prefix(&name, JSON), text(value)) {
            return Self::Member(key, Carried::Json(json));
        }
        Self::Member(without_prefix(&name, PREFIX).unwrap_or_default(), Carried::Plain(value))
    }
}

/// Returns `name` without `prefix`.
fn without_prefix<'a>(name: &Cow<'a, str>, prefix: &str) -> Option<Cow<'a, str>> {
    Some(match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix(prefix)?),
        Cow::Owned(name) => Cow::Owned(name.strip_prefix(prefix)?.to_owned()),
    })
}

/// Members that a record carries in addition to its fields.
#[derive(Debug, Default)]
pub(super) struct Overrides<'a> {
    /// By [`Field`], but for `args`.
    fields: [Option<Carried<'a>>; Field::COUNT],
    absent: Cow<'a, str>,
    pub(super) has_id2: bool,
    pub(super) has_arguments: bool,
    pub(super) has_others: bool,
    pub(super) is_added: bool,
}

impl<'a> Overrides<'a> {
    #[inline]
    pub(super) fn of(item: &Item<'a>, arguments: &Arguments<'a>) -> Self {
        let mut overrides = Self::default();
        for argument in arguments {
            overrides.note(Use::of(item, argument));
        }
        overrides
    }

    #[inline]
    fn note(&mut self, argument: Use<'a>) {
        match argument {
            Use::Argument(..) | Use::EmptyArgs => self.has_arguments = true,
            Use::Absent(keys) => self.absent = keys,
            Use::Added => self.is_added = true,
            Use::Member(key, value) => match self.place(&key) {
                Some(place) => *place = Some(value),
                None => {
                    self.has_others = true;
                    self.has_id2 |= key == "id2";
                }
            },
        }
    }

    fn place(&mut self, key: &str) -> Option<&mut Option<Carried<'a>>> {
        let field = Field::of_key(key.as_bytes()).filter(|field| *field != Field::Args)?;
        Some(&mut self.fields[field as usize])
    }

    /// Returns whether [`Overrides`] has a field for this key.
    pub(super) fn has_place(key: &str) -> bool {
        Self::default().place(key).is_some()
    }

    /// Returns the carried value of a field.
    #[inline]
    pub(super) fn get(&self, field: Field) -> Option<&Carried<'a>> {
        self.fields[field as usize].as_ref()
    }

    /// Returns whether the event lacks a field that its record has.
    pub(super) fn is_absent(&self, field: Field) -> bool {
        !self.absent.is_empty() && self.absent.split(',').any(|absent| absent == field.key())
    }
}
