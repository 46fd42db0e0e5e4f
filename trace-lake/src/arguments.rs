//! Arguments of events, as values that outlive their record.

use trace_format::{Arguments, Item, Value as Recorded};

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub(crate) key: String,
    pub(crate) value: Value,
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Unsigned(u64),
    Real(f64),
    Text(String),
    Bool(bool),
    Pointer(u64),
    Koid(u64),
    /// The number of bytes of a blob.
    Blob(u64),
}

impl Value {
    fn of(item: &Item<'_>, value: Recorded<'_>) -> Self {
        match value {
            Recorded::Null => Self::Null,
            Recorded::Int32(value) => Self::Int(value.into()),
            Recorded::Int64(value) => Self::Int(value),
            Recorded::Uint32(value) => Self::Unsigned(value.into()),
            Recorded::Uint64(value) => Self::Unsigned(value),
            Recorded::Double(value) => Self::Real(value),
            Recorded::String(text) => Self::Text(item.text(text).into_owned()),
            Recorded::Pointer(value) => Self::Pointer(value),
            Recorded::Koid(value) => Self::Koid(value),
            Recorded::Bool(value) => Self::Bool(value),
            Recorded::Blob(bytes) => Self::Blob(bytes.len() as u64),
        }
    }

    /// Returns its type in the table `args`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "int",
            Self::Unsigned(_) => "uint",
            Self::Real(_) => "real",
            Self::Text(_) => "string",
            Self::Bool(_) => "bool",
            Self::Pointer(_) => "pointer",
            Self::Koid(_) => "koid",
            Self::Blob(_) => "blob",
        }
    }

    /// Returns an integer; one beyond 2^63 is negative, as in Perfetto's tables.
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Unsigned(value) | Self::Pointer(value) | Self::Koid(value) => Some(*value as i64),
            Self::Bool(value) => Some((*value).into()),
            _ => None,
        }
    }

    /// Returns a floating-point number.
    pub(crate) fn real(&self) -> Option<f64> {
        match self {
            Self::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value as text, or `None` if it is null.
    pub(crate) fn text(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Int(value) => value.to_string(),
            Self::Unsigned(value) | Self::Koid(value) => value.to_string(),
            Self::Real(value) => value.to_string(),
            Self::Text(value) => value.clone(),
            Self::Bool(value) => value.to_string(),
            Self::Pointer(value) => format!("{value:#x}"),
            Self::Blob(bytes) => format!("{bytes} bytes"),
        })
    }
}

/// Returns the arguments of a record. Of several with one name, the last counts.
pub(crate) fn of(item: &Item<'_>, arguments: &Arguments<'_>) -> Vec<Argument> {
    let mut list = Vec::new();
    for argument in arguments.iter() {
        let key = item.text(argument.name).into_owned();
        add(&mut list, Argument { key, value: Value::of(item, argument.value) });
    }
    list
}

/// Adds an argument, which replaces one of the same name.
pub(crate) fn add(list: &mut Vec<Argument>, argument: Argument) {
    match list.iter_mut().find(|earlier| earlier.key == argument.key) {
        Some(earlier) => earlier.value = argument.value,
        None => list.push(argument),
    }
}
