//! The arguments of a trace point, with the keys of its site.

use std::sync::atomic::AtomicU64;

use super::site::Key;
use crate::value::{Arg, Limit};

/// The arguments of a trace point: nested pairs of a value and the rest, `()` at the end.
pub trait Arguments {
    /// How many there are.
    fn count(&self) -> usize;

    /// Words of all of them.
    fn words(&self, limit: Limit) -> usize;

    /// Stores them; `keys` are those of the site, in the same order.
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

/// The arguments of a counter: numbers, or nothing where an `Option` is `None`.
pub trait Numbers: Arguments {}

/// A number, as a viewer can draw it.
#[diagnostic::on_unimplemented(
    message = "the values of a counter are numbers",
    label = "this is recorded as something else than a number"
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

/// Arguments that are numbers.
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
