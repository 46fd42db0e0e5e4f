//! Durations of one thread that lie neither beside nor within each other.
//!
//! A track of Perfetto's is a stack: an end closes what began last. Durations
//! that overlap, which no thread of a program has but a converted trace may,
//! need tracks beside it.

/// The most durations within each other that are watched.
const MAX_DEPTH: usize = 4096;
/// The most tracks beside a thread's own.
const MAX_LANES: usize = 64;

/// A thread's track and those beside it, with the whole durations that may
/// still be open on each.
#[derive(Debug, Default)]
pub(super) struct Lanes(Vec<Vec<(u64, u64)>>);

impl Lanes {
    /// Returns where a duration fits: 0 for the thread's own track.
    #[inline]
    pub(super) fn place(&mut self, start: u64, end: u64) -> usize {
        for (place, lane) in self.0.iter_mut().enumerate() {
            while lane.last().is_some_and(|(_, open)| *open <= start) {
                lane.pop();
            }
            if fits(lane, start, end) {
                push(lane, start, end);
                return place;
            }
        }
        if self.0.len() < MAX_LANES {
            self.0.push(vec![(start, end)]);
        }
        self.0.len() - 1
    }
}

/// Tells whether no open duration ends within a new one that began later.
#[inline]
fn fits(lane: &[(u64, u64)], start: u64, end: u64) -> bool {
    // They are in each other: the one on top ends first.
    lane.last().is_none_or(|(from, to)| end <= *to || start <= *from)
}

#[inline]
fn push(lane: &mut Vec<(u64, u64)>, start: u64, end: u64) {
    let is_outer = lane.last().is_some_and(|(_, to)| end > *to);
    // An outer one that comes late is over the others, which are on top of it.
    if !is_outer && lane.len() < MAX_DEPTH {
        lane.push((start, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_goes_beside() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.place(0, 100), 0);
        assert_eq!(lanes.place(10, 20), 0);
        assert_eq!(lanes.place(20, 30), 0);
        assert_eq!(lanes.place(25, 40), 1);
        assert_eq!(lanes.place(35, 45), 0);
        assert_eq!(lanes.place(39, 90), 2);
        assert_eq!(lanes.place(50, 120), 1);
        assert_eq!(lanes.place(100, 130), 0);
    }

    #[test]
    fn an_outer_one_may_come_later() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.place(10, 20), 0);
        assert_eq!(lanes.place(5, 50), 0);
        assert_eq!(lanes.place(30, 40), 0);
    }
}
