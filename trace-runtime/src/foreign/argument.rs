//! Values whose types another language says at run time.

use std::ptr::with_exposed_provenance;
use std::slice;
use std::sync::atomic::AtomicU64;

use trace_format::layout::ArgumentType;

use super::site;
use super::text::Text;
use crate::context::Value;
use crate::point::arguments::Arguments;
use crate::point::site::Key;
use crate::value::sealed::Encode;
use crate::value::Limit;

/// The value of an argument: `struct trace_c_argument` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Argument {
    /// The number of an [`ArgumentType`]; any other is null.
    kind: u32,
    /// Bytes of a text.
    length: u32,
    /// The bits of a number, or the address of a text.
    value: u64,
}

/// The arguments of an event, with the keys of their site; as many of the one as of the other.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) keys: &'a [site::Key],
    pub(super) values: &'a [Argument],
}

impl Given<'_> {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Arguments for Given<'_> {
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

impl Argument {
    #[inline(always)]
    fn kind(&self) -> ArgumentType {
        ArgumentType::from_bits(self.kind.into()).unwrap_or(ArgumentType::Null)
    }

    /// The bytes of a text.
    #[inline(always)]
    fn text(&self) -> Text<'_> {
        let start: *const u8 = with_exposed_provenance(self.value as usize);
        if start.is_null() {
            return Text(&[]);
        }
        // SAFETY: by the contract of `event` and `begin`, the text can be read.
        Text(unsafe { slice::from_raw_parts(start, self.length as usize) })
    }

    #[inline(always)]
    fn number(&self) -> Value<'static> {
        let value = self.value;
        match self.kind() {
            ArgumentType::Null | ArgumentType::String | ArgumentType::Blob => Value::Null,
            ArgumentType::Bool => Value::Bool(value != 0),
            ArgumentType::Int32 => Value::Int32(value as i32),
            ArgumentType::Uint32 => Value::Uint32(value as u32),
            ArgumentType::Int64 => Value::Int64(value as i64),
            ArgumentType::Uint64 => Value::Uint64(value),
            ArgumentType::Double => Value::Double(f64::from_bits(value)),
            ArgumentType::Pointer => Value::Pointer(value),
            ArgumentType::Koid => Value::Koid(value),
        }
    }
}

impl Encode for Argument {
    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        match self.kind() {
            ArgumentType::String => self.text().words(limit),
            _ => self.number().words(limit),
        }
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        match self.kind() {
            ArgumentType::String => self.text().encode(key, words, limit),
            _ => self.number().encode(key, words, limit),
        }
    }
}
