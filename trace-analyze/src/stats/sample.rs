//! Samples of lengths with their times.

/// The most lengths in a sample.
const MOST: usize = 1 << 14;

/// Lengths with their times. Of more than 16,384 lengths a half is kept, of more than twice as many
/// a quarter, and so on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    seen: u64,
    halvings: u32,
    kept: Vec<Kept>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    turn: u64,
    begin: u64,
    length: u64,
}

impl Sample {
    /// Adds what began at a time and took so long, both in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, begin: u64, length: u64) {
        // Multiples of the golden ratio: if two kinds of lengths alternate, every second length
        // would be of one kind.
        let turn = self.seen.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.seen += 1;
        if self.kept.len() == MOST {
            self.halvings += 1;
            let halvings = self.halvings;
            self.kept.retain(|kept| kept.turn.leading_zeros() >= halvings);
        }
        if turn.leading_zeros() >= self.halvings {
            self.kept.push(Kept { turn, begin, length });
        }
    }

    /// Returns times and lengths, sorted by time.
    pub(crate) fn in_order(&self) -> Vec<(u64, u64)> {
        let mut kept: Vec<_> = self.kept.iter().map(|kept| (kept.begin, kept.length)).collect();
        kept.sort_unstable();
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_each_kind_and_time_are_kept() {
        for count in [0, 1, 16_384, 16_385, 100_000, 1_000_000] {
            let mut sample = Sample::default();
            // Two kinds alternate, and times decrease.
            (0..count).rev().for_each(|begin| sample.add(begin, begin % 2));
            let kept = sample.in_order();
            assert!(kept.len() as u64 >= count.min(8000) && kept.len() <= MOST, "{count}");
            assert!(kept.is_sorted());
            if count > 16_384 {
                let odd = kept.iter().filter(|(_, length)| *length == 1).count();
                let early = kept.iter().filter(|(begin, _)| *begin < count / 4).count();
                assert!(odd.abs_diff(kept.len() / 2) < 40, "{count}: {odd}");
                assert!(early.abs_diff(kept.len() / 4) < 40, "{count}: {early}");
            }
        }
    }
}
