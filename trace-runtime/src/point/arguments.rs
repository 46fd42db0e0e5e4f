//! The arguments of a trace point, encoded with the keys of its site.

use std::sync::atomic::AtomicU64;

use super::site::Key;
use crate::value::{Arg, Limit};

/// The arguments of a trace point: nested pairs of a value and the rest, ending with `()`.
pub trait Arguments {
    /// Returns the number of arguments.
    fn count(&self) -> usize;

    /// Returns the size of all arguments, in words.
    fn words(&self, limit: Limit) -> usize;

    /// Stores the arguments. `keys` are those of the site, in the same order.
    fn encode(&self, keys: &[Key], words: &[AtomicU64], limit: Limit);
}

impl Arguments for () {
    #[inline(always)]
    fn count(&self) -> usize {
        0
    }

    #[inline(always)]
    fn words(&self, _: Limit) -> usize {
        0
    }

    #[inline(always)]
    fn encode(&self, _: &[Key], _: &[AtomicU64], _: Limit) {}
}

/// The arguments of a counter: numbers, or `None`.
pub trait Numbers: Arguments {}

/// A number that viewers can draw.
#[diagnostic::on_unimplemented(
    message = "the values of a counter must be numbers",
    label = "is not recorded as a number"
)]
pub trait Number: Arg {}

impl Number for i32 {}
impl Number for u32 {}
impl Number for i64 {}
impl Number for u64 {}
impl Number for f64 {}
impl<N: Number> Number for Option<N> {}

impl Numbers for () {}
impl<N: Number, R: Numbers> Numbers for (N, R) {}

/// Returns the arguments, which must be numbers.
#[inline(always)]
pub fn numbers<N: Numbers>(arguments: N) -> N {
    arguments
}

impl<A: Arg, R: Arguments> Arguments for (A, R) {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.count() + self.1.count()
    }

    #[inline(always)]
    fn words(&self, limit: Limit) -> usize {
        self.0.words(limit) + self.1.words(limit)
    }

    #[inline(always)]
    fn encode(&self, keys: &[Key], words: &[AtomicU64], limit: Limit) {
        if let (Some((key, keys)), Some((first, rest))) =
            (keys.split_first(), words.split_at_checked(self.0.words(limit)))
        {
            self.0.encode(key.bits(), first, limit);
            self.1.encode(keys, rest, limit);
        }
    }
}
