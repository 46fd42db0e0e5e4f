//! Detects infinite loops.

/// The places that execution passes without a packet. The next place depends only on the current
/// one, so a repeated place means an infinite loop.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    steps: u64,
    /// The place after the most steps that are zero or a power of two, for Brent's algorithm.
    anchor: u64,
}

impl Progress {
    /// Returns whether `place` shows that execution is in an infinite loop.
    #[inline]
    pub(super) fn is_loop(&mut self, place: u64) -> bool {
        if self.steps != 0 && self.anchor == place {
            return true;
        }
        if self.steps & self.steps.wrapping_sub(1) == 0 {
            self.anchor = place;
        }
        self.steps += 1;
        false
    }

    /// Drops all places.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.steps = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_found_after_any_prefix() {
        for lead in 0..40 {
            for length in 1..40 {
                let mut progress = Progress::default();
                let steps = (0..).take_while(|step| {
                    let place = if *step < lead { *step } else { lead + (step - lead) % length };
                    !progress.is_loop(place)
                });
                let steps = steps.count() as u64;
                assert!(steps >= lead + length && steps <= 3 * (lead + length), "{steps}");
            }
        }
    }

    #[test]
    fn distinct_places_are_no_loop() {
        let mut progress = Progress::default();
        assert!(!(0..10_000).any(|place| progress.is_loop(place)));
        progress.reset();
        assert!(!progress.is_loop(4095));
    }
}
