//! Arguments: typed values with names.

use super::Text;

/// A named value of a record ("Arguments").
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument<'a> {
    /// The name.
    pub name: Text<'a>,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Argument<'a> {
    /// Returns the argument with this name and value.
    #[must_use]
    pub fn new(name: impl Into<Text<'a>>, value: Value<'a>) -> Self {
        let name = name.into();
        Self { name, value }
    }
}

/// An argument of an unknown type, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownArgument<'a> {
    /// The header word.
    pub header: u64,
    /// The name.
    pub name: Text<'a>,
    /// The words after the name.
    pub payload: &'a [u8],
}

/// The value of an argument ("Argument Types").
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Type 0, no value.
    Null,
    /// Type 1.
    Int32(i32),
    /// Type 2.
    Uint32(u32),
    /// Type 3. The specification prefers [`Value::Int32`] for values that fit.
    Int64(i64),
    /// Type 4. The specification prefers [`Value::Uint32`] for values that fit.
    Uint64(u64),
    /// Type 5.
    Double(f64),
    /// Type 6.
    String(Text<'a>),
    /// Type 7. A userspace object record may describe the object.
    Pointer(u64),
    /// Type 8. A kernel object record may describe the object.
    Koid(u64),
    /// Type 9.
    Bool(bool),
    /// Type 10.
    Blob(&'a [u8]),
}

impl Value<'_> {
    /// Returns a number (types 1 to 5) as a double, rounded if it has more than 53 bits, or `None`
    /// for other types.
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

    /// Returns an integer (types 1 to 4), or `None` if it is negative and for other types.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_type() {
        let table = [
            (Value::Null, None, None),
            (Value::Int32(7), Some(7.0), Some(7)),
            (Value::Int32(-7), Some(-7.0), None),
            (Value::Uint32(u32::MAX), Some(4_294_967_295.0), Some(4_294_967_295)),
            (Value::Int64(1 << 40), Some(1_099_511_627_776.0), Some(1 << 40)),
            (Value::Int64(-7), Some(-7.0), None),
            (Value::Uint64(u64::MAX), Some(18_446_744_073_709_551_616.0), Some(u64::MAX)),
            (Value::Double(0.5), Some(0.5), None),
            (Value::Pointer(7), None, None),
            (Value::Koid(7), None, None),
            (Value::Bool(true), None, None),
        ];
        for (value, number, unsigned) in table {
            assert_eq!((value.number(), value.unsigned()), (number, unsigned), "{value:?}");
        }
    }
}
