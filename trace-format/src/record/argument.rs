//! Arguments: keys with typed values.

use core::fmt;

use super::Text;
use crate::decode::ArgumentCursor;

/// A key with a value, part of some records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument<'a> {
    /// The key.
    pub name: Text<'a>,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Argument<'a> {
    /// Returns the argument with this key and value.
    #[must_use]
    pub fn new(name: impl Into<Text<'a>>, value: Value<'a>) -> Self {
        let name = name.into();
        Self { name, value }
    }
}

/// The value of an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Type 0, no value.
    Null,
    /// Type 1.
    Int32(i32),
    /// Type 2.
    Uint32(u32),
    /// Type 3; use [`Value::Int32`] where the value fits.
    Int64(i64),
    /// Type 4; use [`Value::Uint32`] where the value fits.
    Uint64(u64),
    /// Type 5.
    Double(f64),
    /// Type 6.
    String(Text<'a>),
    /// Type 7, may have a userspace object record.
    Pointer(u64),
    /// Type 8, may have a kernel object record.
    Koid(u64),
    /// Type 9.
    Bool(bool),
    /// Type 10.
    Blob(&'a [u8]),
}

impl Value<'_> {
    /// Returns a number (types 1 to 5) as a double, rounded where it has more
    /// than 53 bits; `None` for all else.
    ///
    /// # Examples
    ///
    /// ```
    /// use trace_format::Value;
    ///
    /// assert_eq!(Value::Int64(-3).number(), Some(-3.0));
    /// assert_eq!(Value::Bool(true).number(), None);
    /// ```
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Int32(value) => Some(value.into()),
            Self::Uint32(value) => Some(value.into()),
            Self::Int64(value) => Some(value as f64),
            Self::Uint64(value) => Some(value as f64),
            Self::Double(value) => Some(value),
            _ => None,
        }
    }

    /// Returns an integer (types 1 to 4) that is not negative; `None` for all
    /// else.
    ///
    /// # Examples
    ///
    /// ```
    /// use trace_format::Value;
    ///
    /// assert_eq!(Value::Int32(3).unsigned(), Some(3));
    /// assert_eq!(Value::Int64(-3).unsigned(), None);
    /// ```
    #[must_use]
    pub fn unsigned(self) -> Option<u64> {
        match self {
            Self::Int32(value) => value.try_into().ok(),
            Self::Uint32(value) => Some(value.into()),
            Self::Int64(value) => value.try_into().ok(),
            Self::Uint64(value) => Some(value),
            _ => None,
        }
    }
}

/// The arguments of a record: a list to be encoded, or those of a decoded
/// record, which have been checked and are read one by one.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(Source<'a>);

#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    List(&'a [Argument<'a>]),
    Encoded(ArgumentCursor<'a>),
}

impl<'a> Arguments<'a> {
    /// No arguments.
    pub const NONE: Arguments<'static> = Arguments(Source::List(&[]));

    /// Takes arguments that `cursor` has already gone through without error.
    pub(crate) fn checked(cursor: ArgumentCursor<'a>) -> Self {
        Self(Source::Encoded(cursor))
    }

    /// Returns the arguments in order. Those of a type that is not known are
    /// left out.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> ArgumentsIter<'a> {
        ArgumentsIter(self.0)
    }

    /// Calls `visit` with each index that a name or a value has in the string table.
    #[inline]
    pub(crate) fn string_indices(&self, mut visit: impl FnMut(u16)) {
        match self.0 {
            Source::List(list) => list.iter().for_each(|argument| {
                let value = match argument.value {
                    Value::String(text) => Some(text),
                    _ => None,
                };
                for text in [Some(argument.name), value].into_iter().flatten() {
                    if let Text::Indexed(index) = text {
                        visit(index);
                    }
                }
            }),
            Source::Encoded(cursor) => cursor.string_indices(visit),
        }
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

impl PartialEq for Arguments<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// The iterator of [`Arguments::iter`].
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
