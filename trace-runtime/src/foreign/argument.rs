//! Argument values of other languages, with types known only at run time.

use std::ptr::with_exposed_provenance;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{argument, ArgumentType};

use super::site;
use super::text::Text;
use crate::point::arguments::Arguments;
use crate::point::site::Key;
use crate::value::sealed::Encode;
use crate::value::Limit;

/// The value of an argument: `struct trace_c_argument` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Argument {
    /// The number of an [`ArgumentType`]. Any other number is recorded as null.
    kind: u32,
    /// The length of a text in bytes.
    length: u32,
    /// The bits of a number, or the address of a text.
    value: u64,
}

impl Argument {
    /// Creates an argument with a number of 64 bits.
    #[must_use]
    pub const fn from_u64(value: u64) -> Self {
        Self { kind: ArgumentType::Uint64 as u32, length: 0, value }
    }
}

/// The arguments of an event with the keys of their site. Both slices have the same length.
#[derive(Debug)]
pub(super) struct KeyedArguments<'a> {
    pub(super) keys: &'a [site::Key],
    pub(super) values: &'a [Argument],
}

impl<'a> KeyedArguments<'a> {
    /// Returns the arguments for the keys of a site.
    ///
    /// # Safety
    /// `arguments` points to one argument for each key, and their texts are readable while the
    /// result is used.
    #[inline(always)]
    pub(super) unsafe fn of(site: &'a site::Site, arguments: *const Argument) -> Self {
        // SAFETY: by the contract.
        unsafe { Self::for_keys(site.keys(), arguments) }
    }

    /// Returns the arguments for some keys of a site.
    ///
    /// # Safety
    /// As for [`KeyedArguments::of`], with these keys.
    #[inline(always)]
    pub(super) unsafe fn for_keys(keys: &'a [site::Key], arguments: *const Argument) -> Self {
        if keys.is_empty() {
            return Self { keys, values: &[] };
        }
        // SAFETY: by the contract.
        Self { keys, values: unsafe { slice::from_raw_parts(arguments, keys.len()) } }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Arguments for KeyedArguments<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.values.len()
    }

    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        self.values.iter().map(|value| value.words(limit)).sum()
    }

    #[inline(always)]
    fn encode(&self, _: &[Key], mut words: &[AtomicU64], limit: Limit) {
        for (value, key) in self.values.iter().zip(self.keys) {
            let Some((own, rest)) = words.split_at_checked(value.words(limit)) else { return };
            value.encode(key.bits(), own, limit);
            words = rest;
        }
    }
}

/// The types whose value is in the header, as a bit set.
const IN_HEADER: u32 = 1 << ArgumentType::Null as u32
    | 1 << ArgumentType::Bool as u32
    | 1 << ArgumentType::Int32 as u32
    | 1 << ArgumentType::Uint32 as u32;

/// The types whose value is the word after the header, as a bit set.
const IN_A_WORD: u32 = 1 << ArgumentType::Int64 as u32
    | 1 << ArgumentType::Uint64 as u32
    | 1 << ArgumentType::Double as u32
    | 1 << ArgumentType::Pointer as u32
    | 1 << ArgumentType::Koid as u32;

/// The layout of an argument in a record.
enum Shape<'a> {
    /// The type, and a value in the upper half of the header.
    InHeader(u64, u32),
    /// The type, and a value in the word after the header.
    InAWord(u64, u64),
    Text(Text<'a>),
}

impl Argument {
    #[inline(always)]
    fn shape(&self) -> Shape<'_> {
        let bit = 1u32.checked_shl(self.kind).unwrap_or(0);
        if bit & IN_A_WORD != 0 {
            Shape::InAWord(self.kind.into(), self.value)
        } else if bit & IN_HEADER != 0 {
            Shape::InHeader(self.kind.into(), self.value as u32)
        } else if self.kind == ArgumentType::String as u32 {
            Shape::Text(self.text())
        } else {
            Shape::InHeader(ArgumentType::Null.bits(), 0)
        }
    }

    /// Returns the bytes of a text.
    #[inline(always)]
    fn text(&self) -> Text<'_> {
        let start: *const u8 = with_exposed_provenance(self.value as usize);
        if start.is_null() {
            return Text(&[]);
        }
        // SAFETY: by the contract of `event` and `begin`, the text is readable.
        Text(unsafe { slice::from_raw_parts(start, self.length as usize) })
    }
}

impl Encode for Argument {
    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        match self.shape() {
            Shape::InHeader(..) => 1,
            Shape::InAWord(..) => 2,
            Shape::Text(text) => text.words(limit),
        }
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        let header =
            |kind| argument::Type::make(kind) | argument::Size::make(words.len() as u64) | key;
        match (self.shape(), words) {
            (Shape::Text(text), _) => text.encode(key, words, limit),
            (Shape::InHeader(kind, value), [first, ..]) => {
                first
                    .store(header(kind) | argument::Value32::make(value.into()), Ordering::Relaxed);
            }
            (Shape::InAWord(kind, value), [first, second, ..]) => {
                first.store(header(kind), Ordering::Relaxed);
                second.store(value, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Value;

    fn encoded(value: impl Encode) -> Vec<u64> {
        let words: Vec<AtomicU64> =
            (0..value.words(Limit::LONG)).map(|_| AtomicU64::new(u64::MAX)).collect();
        value.encode(0x7_0000, &words, Limit::LONG);
        words.into_iter().map(AtomicU64::into_inner).collect()
    }

    fn argument(kind: ArgumentType, value: u64) -> Argument {
        Argument { kind: kind as u32, length: 0, value }
    }

    #[test]
    fn the_layout_is_that_of_rust_arguments() {
        let double = 0.5f64.to_bits();
        for (ours, rusts) in [
            (argument(ArgumentType::Null, 0), Value::Null),
            (argument(ArgumentType::Bool, 1), Value::Bool(true)),
            (argument(ArgumentType::Int32, -2i64 as u64), Value::Int32(-2)),
            (argument(ArgumentType::Uint32, 3), Value::Uint32(3)),
            (argument(ArgumentType::Int64, -4i64 as u64), Value::Int64(-4)),
            (argument(ArgumentType::Uint64, 5), Value::Uint64(5)),
            (argument(ArgumentType::Double, double), Value::Double(0.5)),
            (argument(ArgumentType::Pointer, 6), Value::Pointer(6)),
            (argument(ArgumentType::Koid, 7), Value::Koid(7)),
            (argument(ArgumentType::String, 0), Value::Str("")),
        ] {
            assert_eq!(encoded(ours), encoded(rusts));
        }
        let text = Argument {
            kind: 6,
            length: 9,
            value: c"a text, cut".as_ptr().expose_provenance() as u64,
        };
        assert_eq!(encoded(text), encoded(Value::Str("a text, c")));
    }

    #[test]
    fn an_unknown_type_is_null() {
        for kind in [10, 15, 31, 32, 100, u32::MAX] {
            assert_eq!(encoded(Argument { kind, length: 9, value: 9 }), encoded(Value::Null));
        }
    }
}
