//! The code that a thread has passed since its last packet with an address or a branch.
//!
//! A packet that ends before an address, such as FUP, means the first time that execution reaches
//! it. Code without branches that depend on data passes an address again only if it jumps in a
//! circle, and a packet has to divide the rounds.

/// The most jumps back that are kept.
const MAX_JUMPS: usize = 64;

/// The passed code, as straight parts.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// The parts that have ended, each with its first address and the direct jump or call back that
    /// is its last instruction. Code that it jumps over forward is taken for passed, too.
    parts: Vec<(u64, u64)>,
    /// Where the last part begins.
    start: u64,
}

impl Passed {
    /// A packet has the place or the branch before the next instruction.
    pub(super) fn restart(&mut self, next: u64) {
        self.parts.clear();
        self.start = next;
    }

    /// A direct branch has jumped back, or to itself.
    pub(super) fn jumped_back(&mut self, from: u64, to: u64) {
        self.parts.push((self.start, from));
        self.start = to;
    }

    /// Returns whether there are too many jumps for another one.
    pub(super) fn is_full(&self) -> bool {
        self.parts.len() >= MAX_JUMPS
    }

    /// Returns the last jump back and its target, if the instruction at `ip`, which is next, may
    /// have been executed before.
    pub(super) fn last_jump_before(&self, ip: u64) -> Option<(u64, u64)> {
        let (_, from) = *self.parts.last()?;
        let was_passed = self.parts.iter().any(|(start, end)| (*start..=*end).contains(&ip));
        was_passed.then_some((from, self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_passed_again_behind_a_jump_back_only() {
        let mut passed = Passed::default();
        passed.restart(0x1000);
        assert_eq!(passed.last_jump_before(0x1000), None);
        passed.jumped_back(0x1008, 0x800);
        assert_eq!(passed.last_jump_before(0x800), None);
        for again in [0x1000, 0x1004, 0x1008] {
            assert_eq!(passed.last_jump_before(again), Some((0x1008, 0x800)));
        }
        assert_eq!(passed.last_jump_before(0x1009), None);
        passed.restart(0x1004);
        assert_eq!(passed.last_jump_before(0x1004), None);
    }

    #[test]
    fn the_number_of_jumps_is_limited() {
        let mut passed = Passed::default();
        (0..MAX_JUMPS).for_each(|_| passed.jumped_back(8, 0));
        assert!(passed.is_full());
        passed.restart(0);
        assert!(!passed.is_full());
    }
}
