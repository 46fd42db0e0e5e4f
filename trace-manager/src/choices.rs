//! The choices of a randomized test: the bytes of a fuzzer, or numbers of a seed.

/// A finite sequence of choices. At its end, all are zero.
#[derive(Debug)]
pub(crate) enum Choices<'a> {
    /// Bytes of a fuzzer.
    Bytes(&'a [u8]),
    /// SplitMix64, and the number of bytes that are left.
    #[cfg(test)]
    Seed(u64, usize),
}

impl Choices<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_empty(),
            #[cfg(test)]
            Self::Seed(_, left) => *left == 0,
        }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self {
            Self::Bytes(bytes) => {
                let Some((first, rest)) = bytes.split_first() else { return 0 };
                *bytes = rest;
                *first
            }
            #[cfg(test)]
            Self::Seed(_, 0) => 0,
            #[cfg(test)]
            Self::Seed(state, left) => {
                *left -= 1;
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let word = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (word >> 56) as u8
            }
        }
    }

    /// Returns a number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }

    /// Returns true once in `times`.
    pub(crate) fn one_in(&mut self, times: u8) -> bool {
        self.below(times) == times - 1
    }

    /// Returns an item of a list that is not empty.
    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::from(self.byte()) % list.len()]
    }

    /// Returns an item, if there is any.
    pub(crate) fn of_any<T>(&mut self, items: impl Iterator<Item = T>) -> Option<T> {
        let mut items: Vec<T> = items.collect();
        let index = usize::from(self.byte()).checked_rem(items.len())?;
        Some(items.swap_remove(index))
    }
}
