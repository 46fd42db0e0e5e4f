//! The values of fields, between `tracing`, which visits them one by one, and a record, which takes
//! them at once.

use std::cell::Cell;
use std::error::Error;
use std::fmt::{self, Write};

use trace_runtime::context::format::layout::cut_str;
use trace_runtime::context::Value;
use tracing_core::field::{Field, Visit};

use crate::callsite::{Callsite, MAX_ARGUMENTS};

/// The longest text of a value, in bytes: the limit of a record.
const MAX_TEXT: usize = 32_000;

/// The most bytes of text whose memory is kept for reuse.
pub(crate) const KEPT_TEXT: usize = 4096;

/// Values of the fields of a callsite, in the order of its keys. The memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Values {
    values: Vec<Stored>,
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Stored {
    Missing,
    Bool(bool),
    Int64(i64),
    Uint64(u64),
    Double(f64),
    /// A range of bytes of the text.
    Text(usize, usize),
}

impl Values {
    /// Resets to the fields of `callsite`, without values.
    pub(crate) fn reset(&mut self, callsite: &Callsite) {
        self.values.clear();
        self.values.resize(callsite.keys().len(), Stored::Missing);
        if self.text.capacity() > KEPT_TEXT {
            self.text = String::new();
        }
        self.text.clear();
    }

    /// Returns whether there are no values.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.iter().all(|value| matches!(value, Stored::Missing))
    }

    /// Replaces values by those that `newer` has.
    pub(crate) fn merge(&mut self, newer: &Values) {
        let mut merged = Values::default();
        for place in 0..self.values.len().max(newer.values.len()) {
            let newest = [newer, &*self]
                .into_iter()
                .find(|values| !matches!(values.get(place), Value::Omitted));
            merged.push(newest.map_or(Value::Omitted, |values| values.get(place)));
        }
        *self = merged;
    }

    fn push(&mut self, value: Value<'_>) {
        let stored = match value {
            Value::Bool(value) => Stored::Bool(value),
            Value::Int64(value) => Stored::Int64(value),
            Value::Uint64(value) => Stored::Uint64(value),
            Value::Double(value) => Stored::Double(value),
            Value::Str(text) => self.append(format_args!("{text}")),
            _ => Stored::Missing,
        };
        self.values.push(stored);
    }

    fn get(&self, place: usize) -> Value<'_> {
        match self.values.get(place) {
            None | Some(Stored::Missing) => Value::Omitted,
            Some(Stored::Bool(value)) => Value::Bool(*value),
            Some(Stored::Int64(value)) => Value::Int64(*value),
            Some(Stored::Uint64(value)) => Value::Uint64(*value),
            Some(Stored::Double(value)) => Value::Double(*value),
            Some(Stored::Text(from, to)) => {
                Value::Str(self.text.get(*from..*to).unwrap_or_default())
            }
        }
    }

    /// Returns all values as arguments of a record.
    #[inline]
    pub(crate) fn arguments(&self) -> [Value<'_>; MAX_ARGUMENTS] {
        let mut arguments = [Value::Omitted; MAX_ARGUMENTS];
        for (place, argument) in arguments.iter_mut().enumerate().take(self.values.len()) {
            *argument = self.get(place);
        }
        arguments
    }

    /// Returns the text of the first value, the message of an event.
    pub(crate) fn first_text(&self) -> &str {
        self.text(0)
    }

    /// Returns the text of a value, or an empty one if the value is no text.
    pub(crate) fn text(&self, place: usize) -> &str {
        match self.get(place) {
            Value::Str(text) => text,
            _ => "",
        }
    }

    /// Returns the value of a field, if it has one.
    pub(crate) fn named(&self, callsite: &Callsite, name: &str) -> Option<Value<'_>> {
        let place = callsite.keys().iter().position(|key| *key == name)?;
        Some(self.get(place)).filter(|value| *value != Value::Omitted)
    }

    fn append(&mut self, text: fmt::Arguments<'_>) -> Stored {
        let from = self.text.len();
        let mut limited = Limited { text: &mut self.text, end: from + MAX_TEXT };
        // If a `Debug` implementation fails, the text before the error is recorded.
        let _cut = limited.write_fmt(text);
        Stored::Text(from, self.text.len())
    }

    fn append_str(&mut self, text: &str) -> Stored {
        let from = self.text.len();
        self.text.push_str(cut_str(text, MAX_TEXT));
        Stored::Text(from, self.text.len())
    }
}

/// Writes text up to a limit.
struct Limited<'a> {
    text: &'a mut String,
    end: usize,
}

impl Write for Limited<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let fits = cut_str(more, self.end.saturating_sub(self.text.len()));
        self.text.push_str(fits);
        if fits.len() == more.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

/// Collects the values of a span or an event.
#[derive(Debug)]
pub(crate) struct ValueVisitor<'a> {
    callsite: &'static Callsite,
    values: &'a mut Values,
}

impl<'a> ValueVisitor<'a> {
    /// Returns a visitor for values of this callsite.
    pub(crate) fn new(callsite: &'static Callsite, values: &'a mut Values) -> Self {
        values.reset(callsite);
        Self { callsite, values }
    }

    #[inline]
    fn put(&mut self, field: &Field, make: impl FnOnce(&mut Values) -> Stored) {
        let Some(place) = self.callsite.place(field) else { return };
        let value = make(self.values);
        if let Some(stored) = self.values.values.get_mut(place) {
            *stored = value;
        }
    }
}

impl Visit for ValueVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, |_| Stored::Double(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, |_| Stored::Int64(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, |_| Stored::Uint64(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, |_| Stored::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, |values| values.append_str(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, |values| values.append(format_args!("{value}")));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, |values| values.append(format_args!("{value:?}")));
    }
}

thread_local! {
    /// Spare memory for values. It is taken during collection, because formatting a value may trace
    /// too.
    static SPARE: Cell<Option<Box<Values>>> = const { Cell::new(None) };
}

/// Calls `act` with memory for values, which may contain old ones.
#[inline]
pub(crate) fn with_spare<R>(act: impl FnOnce(&mut Values) -> R) -> R {
    let mut values = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = act(&mut values);
    let _thread_ends = SPARE.try_with(|spare| spare.set(Some(values)));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters() {
        let mut values = Values::default();
        let long = "é".repeat(20_000);
        let stored = values.append(format_args!("x{long}"));
        values.values.push(stored);
        assert_eq!(values.first_text().len(), 31_999);
    }

    #[test]
    fn newer_values_win() {
        let (mut old, mut new) = (Values::default(), Values::default());
        [Value::Str("old"), Value::Int64(1), Value::Omitted]
            .into_iter()
            .for_each(|value| old.push(value));
        [Value::Omitted, Value::Str("new"), Value::Bool(true)]
            .into_iter()
            .for_each(|value| new.push(value));
        old.merge(&new);
        assert_eq!(old.arguments()[..3], [Value::Str("old"), Value::Str("new"), Value::Bool(true)]);
    }
}
