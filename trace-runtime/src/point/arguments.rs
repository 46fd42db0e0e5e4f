//! The arguments of a trace point, with the keys of its site.

use std::sync::atomic::AtomicU64;

use super::site::Key;
use crate::value::{Arg, Limit};

/// The arguments of a trace point: nested pairs of a value and the rest, `()` at the end.
pub trait Arguments {
    /// How many there are.
    const COUNT: usize;

    /// Words of all of them.
    fn words(&self, limit: Limit) -> usize;

    /// Stores them; `keys` are those of the site, in the same order.
    fn encode(&self, keys: &[Key], words: &[AtomicU64], limit: Limit);
}

impl Arguments for () {
    const COUNT: usize = 0;

    #[inline(always)]
    fn words(&self, _: Limit) -> usize {
        0
    }

    #[inline(always)]
    fn encode(&self, _: &[Key], _: &[AtomicU64], _: Limit) {}
}

impl<A: Arg, R: Arguments> Arguments for (A, R) {
    const COUNT: usize = 1 + R::COUNT;

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
