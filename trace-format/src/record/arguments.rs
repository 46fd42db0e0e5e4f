//! The arguments of a record: a list, or encoded.

use core::fmt;

use super::argument_cursor::ArgumentCursor;
use super::{Argument, Text, UnknownArgument, Value};

/// The arguments of a record.
///
/// Those to be encoded are a list. Those of a decoded record were checked, and are decoded one by
/// one.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(Source<'a>);

#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    List(&'a [Argument<'a>]),
    Encoded(ArgumentCursor<'a>),
}

impl<'a> Arguments<'a> {
    /// An empty list.
    pub const NONE: Arguments<'static> = Arguments(Source::List(&[]));

    /// Returns the arguments in order, without those of unknown types.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> ArgumentsIter<'a> {
        ArgumentsIter(self.0)
    }

    /// Returns whether there are no arguments of any type, known or unknown.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Source::List(list) => list.is_empty(),
            Source::Encoded(cursor) => cursor.is_empty(),
        }
    }

    /// Returns the arguments of unknown types, in order.
    pub fn unknown(&self) -> impl Iterator<Item = UnknownArgument<'a>> {
        let mut cursor = match self.0 {
            Source::List(_) => None,
            Source::Encoded(cursor) => Some(cursor),
        };
        core::iter::from_fn(move || cursor.as_mut()?.next_unknown())
    }

    /// Calls `visit` with each string index, and returns the number of arguments of unknown types.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only `audit` uses it"))]
    #[inline]
    pub(crate) fn string_indices(&self, mut visit: impl FnMut(u16)) -> u64 {
        match self.0 {
            Source::List(list) => {
                list.iter().for_each(|argument| indices_of(argument, &mut visit));
                0
            }
            Source::Encoded(cursor) => cursor.string_indices(visit),
        }
    }
}

impl<'a> From<ArgumentCursor<'a>> for Arguments<'a> {
    #[inline]
    fn from(cursor: ArgumentCursor<'a>) -> Self {
        Self(Source::Encoded(cursor))
    }
}

impl<'a> From<&'a [Argument<'a>]> for Arguments<'a> {
    fn from(list: &'a [Argument<'a>]) -> Self {
        Self(Source::List(list))
    }
}

impl<'a, const N: usize> From<&'a [Argument<'a>; N]> for Arguments<'a> {
    fn from(list: &'a [Argument<'a>; N]) -> Self {
        Self(Source::List(list))
    }
}

impl<'a> IntoIterator for &Arguments<'a> {
    type Item = Argument<'a>;
    type IntoIter = ArgumentsIter<'a>;

    fn into_iter(self) -> ArgumentsIter<'a> {
        self.iter()
    }
}

/// Calls `visit` with each string index of an argument.
fn indices_of(argument: &Argument<'_>, mut visit: impl FnMut(u16)) {
    let value = match argument.value {
        Value::String(text) => Some(text),
        _ => None,
    };
    for text in [Some(argument.name), value].into_iter().flatten() {
        if let Text::Indexed(index) = text {
            visit(index);
        }
    }
}

impl PartialEq for Arguments<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter()) && self.unknown().eq(other.unknown())
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// The iterator returned by [`Arguments::iter`].
#[derive(Debug, Clone)]
pub struct ArgumentsIter<'a>(Source<'a>);

impl<'a> Iterator for ArgumentsIter<'a> {
    type Item = Argument<'a>;

    #[inline]
    fn next(&mut self) -> Option<Argument<'a>> {
        match &mut self.0 {
            Source::List(list) => {
                let (first, rest) = list.split_first()?;
                *list = rest;
                Some(*first)
            }
            Source::Encoded(cursor) => cursor.next_known(),
        }
    }

    #[inline]
    fn count(self) -> usize {
        match self.0 {
            Source::List(list) => list.len(),
            Source::Encoded(_) => self.fold(0, |count, _| count + 1),
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::{decode, encode, Record, ThreadWakeup};

    #[test]
    fn list_and_encoded_arguments_are_the_same() {
        let list = [
            Argument::new(Text::Indexed(5), Value::String(Text::Indexed(6))),
            Argument::new("inline", Value::String("inline".into())),
            Argument::new(Text::Indexed(7), Value::Null),
        ];
        let arguments = Arguments::from(&list);
        let mut words = Vec::new();
        let record = ThreadWakeup { ticks: 1, cpu: 1, thread: 1, arguments };
        encode::append(&mut words, &Record::from(record)).unwrap();
        let bytes = encode::to_bytes(&words);
        let encoded = decode::record(&bytes).unwrap().arguments();

        for arguments in [arguments, encoded] {
            let mut indices = Vec::new();
            assert_eq!(arguments.string_indices(|index| indices.push(index)), 0);
            assert_eq!(indices, [5, 6, 7]);
            assert_eq!(arguments.iter().count(), 3);
            assert_eq!(format!("{arguments:?}"), format!("{list:?}"));
        }
        assert_eq!(arguments, encoded);
        assert_ne!(arguments, Arguments::from(&list[1..]));
    }
}
