//! The branches of a TNT packet, one after another.

use crate::pt::Tnt;

/// Branches that are still to be taken.
///
/// The oldest is the highest bit. A one follows the last branch, and then zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Branches(u64);

impl Default for Branches {
    fn default() -> Self {
        Self::NONE
    }
}

impl Branches {
    pub(super) const NONE: Self = Self(1 << 63);

    #[inline]
    pub(super) fn new(tnt: Tnt) -> Self {
        Self((tnt.bits() << 1 | 1) << (u64::BITS - 1 - u32::from(tnt.len())))
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Takes the oldest branch, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<bool> {
        if self.is_empty() {
            return None;
        }
        let taken = self.0 >> 63 == 1;
        self.0 <<= 1;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_branch_is_the_first() {
        for count in 1..=47 {
            let expected: Vec<bool> = (0..count).map(|at| at % 3 == 0).collect();
            let bits = expected.iter().fold(0, |bits, taken| bits << 1 | u64::from(*taken));
            let mut branches = Branches::new(Tnt::new(bits, count).unwrap());
            let found: Vec<bool> = std::iter::from_fn(|| branches.take()).collect();
            assert_eq!(found, expected);
            assert!(branches.is_empty());
        }
        assert_eq!({ Branches::NONE }.take(), None);
    }
}
