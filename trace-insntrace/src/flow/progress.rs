//! Detects code that runs in a circle.

/// The places that execution passes without a packet. The first place that comes again means that
/// it will come again forever: what comes next depends on the place only.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// A place that was passed, by Brent's algorithm the one `steps` before.
    anchor: Option<u64>,
    steps: u32,
    limit: u32,
}

impl Progress {
    /// Returns whether `place` shows that execution runs in a circle.
    #[inline]
    pub(super) fn is_circle(&mut self, place: u64) -> bool {
        if self.anchor == Some(place) {
            return true;
        }
        if self.steps >= self.limit {
            self.anchor = Some(place);
            self.limit = self.limit.saturating_mul(2).max(1);
            self.steps = 0;
        }
        self.steps += 1;
        false
    }

    /// Forgets all places.
    #[inline]
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_whatever_comes_before_it() {
        for lead in 0..40 {
            for length in 1..40 {
                let mut progress = Progress::default();
                let steps = (0..).take_while(|step| {
                    let place = if *step < lead { *step } else { lead + (step - lead) % length };
                    !progress.is_circle(place)
                });
                let steps = steps.count() as u64;
                assert!(steps >= lead + length && steps <= 3 * (lead + length), "{steps}");
            }
        }
    }

    #[test]
    fn what_does_not_repeat_is_no_circle() {
        let mut progress = Progress::default();
        assert!(!(0..10_000).any(|place| progress.is_circle(place)));
        progress.reset();
        assert!(!progress.is_circle(4095));
    }
}
