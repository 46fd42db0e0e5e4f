//! Values whose types are known only at run time.

use std::sync::atomic::AtomicU64;

use crate::value::sealed::Encode;
use crate::value::{Arg, Koid, Limit, Pointer};

/// The value of an argument of a [`TracePoint`](super::TracePoint).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No argument: the key is left out.
    Omitted,
    /// Null.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A 32-bit signed integer.
    Int32(i32),
    /// A 32-bit unsigned integer.
    Uint32(u32),
    /// A 64-bit signed integer.
    Int64(i64),
    /// A 64-bit unsigned integer.
    Uint64(u64),
    /// A floating point number.
    Double(f64),
    /// A text. Up to 32,000 bytes are recorded.
    Str(&'a str),
    /// An address.
    Pointer(u64),
    /// The id of a kernel object.
    Koid(u64),
    /// The text of the trace point's key with this index. It takes one word, because all records of
    /// the trace point refer to one string.
    Key(u8),
}

impl Encode for Value<'_> {
    fn count(&self) -> usize {
        usize::from(!matches!(self, Self::Omitted))
    }

    fn words(&self, limit: Limit) -> usize {
        match self {
            Self::Omitted => 0,
            Self::Null | Self::Bool(_) | Self::Int32(_) | Self::Uint32(_) | Self::Key(_) => 1,
            Self::Int64(_)
            | Self::Uint64(_)
            | Self::Double(_)
            | Self::Pointer(_)
            | Self::Koid(_) => 2,
            Self::Str(text) => text.words(limit),
        }
    }

    fn encode(&self, key: u64, words: &[AtomicU64], limit: Limit) {
        match self {
            Self::Omitted => {}
            Self::Null => Encode::encode(&(), key, words, limit),
            Self::Bool(value) => value.encode(key, words, limit),
            Self::Int32(value) => value.encode(key, words, limit),
            Self::Uint32(value) => value.encode(key, words, limit),
            Self::Int64(value) => value.encode(key, words, limit),
            Self::Uint64(value) => value.encode(key, words, limit),
            Self::Double(value) => value.encode(key, words, limit),
            Self::Str(value) => value.encode(key, words, limit),
            Self::Pointer(value) => Pointer(*value).encode(key, words, limit),
            Self::Koid(value) => Koid(*value).encode(key, words, limit),
            // `TracePoint` has the keys.
            Self::Key(_) => Encode::encode(&(), key, words, limit),
        }
    }
}

impl Arg for Value<'_> {}
