//! The values of arguments, and their layout in a record.

mod accepted;
#[cfg(feature = "attributes")]
pub(crate) mod choice;
pub(crate) mod formatted;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{argument, cut_str, ArgumentType};

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub(crate) use text::encode_bytes;
pub(crate) use text::{encode_text, inline_ref};

/// A value that can be recorded as an argument.
///
/// These types implement it: integers of up to 64 bits, floating point numbers, `bool`, `char`,
/// `str`, `String`, `Cow<str>`, raw pointers, `()`, [`Koid`], [`Pointer`], and references, boxes
/// and `Option`s of these.
///
/// A text is recorded up to 32,000 bytes and cut at a character. If the record would exceed 32 KB,
/// each of its texts is cut to 1,800 bytes. The trace counts texts that were cut.
///
/// Implement it for your own types by returning a value of one of these types:
///
/// ```
/// use trace_runtime::ArgValue;
///
/// struct RequestId(u64);
///
/// impl ArgValue for RequestId {
///     type Arg<'a> = u64;
///
///     fn arg(&self) -> u64 {
///         self.0
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded as an argument",
    label = "not a number, text, boolean, pointer, or `Option` of one",
    note = "record its text, as in `\"key\" => ?value` (`Debug`) or `%value` (`Display`), a part of it, or implement `trace_runtime::ArgValue` for it"
)]
pub trait ArgValue {
    /// The type of the recorded value: one of those that [`Arg`] lists.
    type Arg<'a>: Arg
    where
        Self: 'a;

    /// Returns the value to record. Called only while the trace point is on.
    fn arg(&self) -> Self::Arg<'_>;
}

/// Returns the value to record.
#[doc(hidden)]
#[inline(always)]
pub fn recorded<'a, T: RecordedAs<'a, A> + ?Sized, A>(value: &'a T) -> A {
    value.recorded_as()
}

/// A value whose [`ArgValue::Arg`] is `A`.
///
/// `A` is a parameter because the compiler would report a missing associated type twice.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded as an argument",
    label = "not a number, text, boolean, pointer, or `Option` of one",
    note = "record its text, as in `\"key\" => ?value` (`Debug`) or `%value` (`Display`), a part of it, or implement `trace_runtime::ArgValue` for it"
)]
pub trait RecordedAs<'a, A> {
    /// Returns the value to record.
    fn recorded_as(&'a self) -> A;
}

impl<'a, A, T: ArgValue<Arg<'a> = A> + ?Sized + 'a> RecordedAs<'a, A> for T {
    #[inline(always)]
    fn recorded_as(&'a self) -> A {
        self.arg()
    }
}

/// A value with a type of the trace format: `()` (null), `bool`, `i32`, `u32`, `i64`, `u64`, `f64`,
/// `&str`, `char` (recorded as a string), [`Pointer`], [`Koid`], or an `Option` of one of them
/// (`None` is null).
///
/// See "Argument Types" in the specification of the format. Programs cannot implement it.
pub trait Arg: sealed::Encode {}

/// The id of a kernel object: a Linux process id or thread id. Viewers show the object's name with
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Koid(pub u64);

/// An address in the traced process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer(pub u64);

/// The longest string, in bytes, in a record that had to be cut. Name, category and 15 strings of
/// this length fit into a record.
const SHORT: usize = 1800;

/// The longest string that one record may have, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limit(usize);

impl Limit {
    /// Returns the limit in bytes.
    #[inline(always)]
    pub(crate) const fn bytes(self) -> usize {
        self.0
    }

    /// The format's limit for one string, 32,000 bytes.
    pub(crate) const LONG: Self = Self(trace_format::layout::MAX_STRING_BYTES);
    /// The limit at which every record fits.
    pub(crate) const SHORT: Self = Self(SHORT);

    /// Returns the part of `text` that may be recorded, cut at a character.
    #[inline(always)]
    pub(crate) fn cut(self, text: &str) -> &str {
        if text.len() <= self.0 {
            text
        } else {
            cut_str(text, self.0)
        }
    }

    /// Cuts like [`Limit::cut`], and counts the text if it was cut. Call it once for each text,
    /// where it is stored.
    #[inline(always)]
    pub(crate) fn cut_and_count(self, text: &str) -> &str {
        if text.len() <= self.0 {
            text
        } else {
            count_cut();
            cut_str(text, self.0)
        }
    }
}

/// The number of strings that were cut in the current recording. Rules: traced threads increment
/// it, the service thread resets it.
static CUT: AtomicU64 = AtomicU64::new(0);

/// Counts a string that was cut.
#[cold]
#[inline(never)]
pub(crate) fn count_cut() {
    CUT.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of strings that were cut since the last call.
pub(crate) fn take_cut() -> u64 {
    CUT.swap(0, Ordering::Relaxed)
}

pub(crate) mod sealed {
    use std::sync::atomic::AtomicU64;

    use crate::value::Limit;

    /// Writes one argument: a header word, without its name, and a payload.
    pub trait Encode {
        /// Returns 1, or 0 for an argument that is left out.
        #[inline(always)]
        fn count(&self) -> usize {
            1
        }

        /// Returns the size in words, with the header.
        fn words(&self, limit: Limit) -> usize;

        /// Stores the words; `key` is the name field of the header.
        fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit);
    }
}

use sealed::Encode;

#[inline(always)]
fn put(words: &[AtomicU64], index: usize, value: u64) {
    if let Some(word) = words.get(index) {
        word.store(value, Ordering::Relaxed);
    }
}

/// Returns the header of an argument, without its name.
#[inline(always)]
pub(crate) fn header(kind: ArgumentType, words: usize) -> u64 {
    argument::Type::make(kind.bits()) | argument::Size::make(words as u64)
}

/// Encodes arguments whose value is in the header.
macro_rules! in_header {
    ($($type:ty, $kind:ident, $value:ident => $bits:expr;)*) => {$(
        impl Encode for $type {
            #[inline(always)]
            fn words(&self, _: Limit) -> usize {
                1
            }

            #[inline(always)]
            fn encode(&self, key: u64, words: &[AtomicU64], _: Limit) {
                let $value = *self;
                put(words, 0, header(ArgumentType::$kind, 1) | key | $bits);
            }
        }

        impl Arg for $type {}
    )*};
}

/// Encodes arguments whose value is the word after the header.
macro_rules! in_a_word {
    ($($type:ty, $kind:ident, $value:ident => $bits:expr;)*) => {$(
        impl Encode for $type {
            #[inline(always)]
            fn words(&self, _: Limit) -> usize {
                2
            }

            #[inline(always)]
            fn encode(&self, key: u64, words: &[AtomicU64], _: Limit) {
                let $value = *self;
                put(words, 0, header(ArgumentType::$kind, 2) | key);
                put(words, 1, $bits);
            }
        }

        impl Arg for $type {}
    )*};
}

in_header! {
    (), Null, _value => 0;
    bool, Bool, value => argument::Bool::make(u64::from(value));
    i32, Int32, value => argument::Value32::make(u64::from(value as u32));
    u32, Uint32, value => argument::Value32::make(u64::from(value));
}

in_a_word! {
    i64, Int64, value => value as u64;
    u64, Uint64, value => value;
    f64, Double, value => value.to_bits();
    Pointer, Pointer, value => value.0;
    Koid, Koid, value => value.0;
}

impl Encode for &str {
    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        1 + limit.cut(self).len().div_ceil(8)
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        let text = limit.cut_and_count(self);
        let value = argument::ValueRef::make(u64::from(inline_ref(text).bits()));
        put(words, 0, header(ArgumentType::String, words.len()) | key | value);
        encode_text(text, words.get(1..).unwrap_or(&[]));
    }
}

impl Arg for &str {}

/// A `char` is recorded as a text of up to 4 bytes.
impl Encode for char {
    #[inline(always)]
    fn words(&self, _: Limit) -> usize {
        2
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        let mut bytes = [0; 4];
        let text: &str = self.encode_utf8(&mut bytes);
        text.encode(key, words, limit);
    }
}

impl Arg for char {}

impl<T: Encode> Encode for Option<T> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.as_ref().map_or(1, T::count)
    }

    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        self.as_ref().map_or(1, |value| value.words(limit))
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        match self {
            Some(value) => value.encode(key, words, limit),
            None => ().encode(key, words, limit),
        }
    }
}

impl<T: Arg> Arg for Option<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: impl Encode) -> Vec<u64> {
        let words: Vec<AtomicU64> =
            (0..value.words(Limit::LONG)).map(|_| AtomicU64::new(u64::MAX)).collect();
        value.encode(0x7_0000, &words, Limit::LONG);
        words.into_iter().map(AtomicU64::into_inner).collect()
    }

    /// Literal words, from "Argument Types" of the specification.
    #[test]
    fn arguments_have_the_layout_of_the_specification() {
        assert_eq!(encoded(()), [0x0000_0000_0007_0010]);
        assert_eq!(encoded(-2i32), [0xffff_fffe_0007_0011]);
        assert_eq!(encoded(3u32), [0x0000_0003_0007_0012]);
        assert_eq!(encoded(-1i64), [0x0000_0000_0007_0023, u64::MAX]);
        assert_eq!(encoded(5u64), [0x0000_0000_0007_0024, 5]);
        assert_eq!(encoded(1.0f64), [0x0000_0000_0007_0025, 0x3ff0_0000_0000_0000]);
        assert_eq!(encoded("abc"), [0x0000_8003_0007_0026, 0x0063_6261]);
        assert_eq!(encoded("12345678"), [0x0000_8008_0007_0026, 0x3837_3635_3433_3231]);
        assert_eq!(encoded(""), [0x0000_0000_0007_0016]);
        assert_eq!(encoded('c'), [0x0000_8001_0007_0026, 0x63]);
        assert_eq!(encoded('\u{1f600}'), [0x0000_8004_0007_0026, 0x8098_9ff0]);
        assert_eq!(encoded('\0'), [0x0000_8001_0007_0026, 0]);
        assert_eq!(encoded(Pointer(9)), [0x0000_0000_0007_0027, 9]);
        assert_eq!(encoded(Koid(9)), [0x0000_0000_0007_0028, 9]);
        assert_eq!(encoded(true), [0x0000_0001_0007_0019]);
        assert_eq!(encoded(None::<u64>), [0x0000_0000_0007_0010]);
    }

    #[test]
    fn texts_of_every_length_are_padded_with_zeros() {
        let text: String = ('a'..='z').collect();
        for length in 0..text.len() {
            let words = encoded(&text[..length]);
            let bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(&bytes[..length], &text.as_bytes()[..length]);
            assert!(bytes[length..].iter().all(|byte| *byte == 0), "{length}");
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = "é".repeat(20_000);
        assert_eq!(Limit::LONG.cut(&text).len(), 32_000);
        let odd = format!("x{text}");
        assert_eq!(Limit::LONG.cut(&odd).len(), 31_999);
    }
}
