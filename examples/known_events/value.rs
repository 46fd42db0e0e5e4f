//! The expected values of arguments in the trace.

use std::borrow::Cow;
use std::fmt;

use trace_runtime::{InstantScope, Koid, Pointer};

/// An argument's type and value: the rest of a JSON list that begins with its key.
pub(crate) struct Value(&'static str, String);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, value) = self;
        write!(f, "\"{kind}\",{value}")
    }
}

/// A value with a known representation in the trace.
pub(crate) trait Known {
    /// Returns its representation in the trace.
    fn known(&self) -> Value;
}

macro_rules! numbers {
    ($($type:ty => $kind:literal, $value:ident => $number:expr;)*) => {$(
        impl Known for $type {
            fn known(&self) -> Value {
                let $value = *self;
                Value($kind, format!("\"{}\"", $number))
            }
        }
    )*};
}

numbers! {
    i8 => "i32", value => value;
    i16 => "i32", value => value;
    i32 => "i32", value => value;
    u8 => "u32", value => value;
    u16 => "u32", value => value;
    u32 => "u32", value => value;
    i64 => "i64", value => value;
    isize => "i64", value => value;
    u64 => "u64", value => value;
    usize => "u64", value => value;
    f32 => "f64", value => f64::from(value).to_bits();
    f64 => "f64", value => value.to_bits();
    Pointer => "pointer", value => value.0;
    Koid => "koid", value => value.0;
    *const u8 => "pointer", value => value.addr();
}

impl Known for () {
    fn known(&self) -> Value {
        Value("null", "null".to_owned())
    }
}

impl Known for bool {
    fn known(&self) -> Value {
        Value("bool", self.to_string())
    }
}

impl Known for str {
    fn known(&self) -> Value {
        Value("string", text(self))
    }
}

impl Known for String {
    fn known(&self) -> Value {
        self.as_str().known()
    }
}

impl Known for Cow<'_, str> {
    fn known(&self) -> Value {
        self.as_ref().known()
    }
}

impl<T: Known + ?Sized> Known for &T {
    fn known(&self) -> Value {
        (**self).known()
    }
}

impl<T: Known> Known for Option<T> {
    fn known(&self) -> Value {
        self.as_ref().map_or_else(|| ().known(), T::known)
    }
}

/// The argument after the name of an event: an id or a scope.
pub(crate) trait Tail {
    /// Returns the word in the record.
    fn bits(self) -> u64;
}

impl Tail for u64 {
    fn bits(self) -> u64 {
        self
    }
}

impl Tail for InstantScope {
    fn bits(self) -> u64 {
        match self {
            Self::Thread => 0,
            Self::Process => 1,
            Self::Global => 2,
        }
    }
}

/// A string in JSON.
pub(crate) fn text(text: &str) -> String {
    let mut json = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => json.extend(['\\', char]),
            '\0'..='\u{1f}' => json.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => json.push(char),
        }
    }
    json.push('"');
    json
}
