//! Overlapping durations of one thread.
//!
//! A track in Perfetto is a stack: an end closes the last begin. Durations that overlap without
//! being nested need further tracks. Only converted traces have them.

/// The maximum number of nested durations of a track.
const MAX_DEPTH: usize = 4096;
/// The maximum number of tracks of a thread.
const MAX_LANES: usize = 64;

/// A thread's track and its further tracks, each with the complete durations that may be open.
#[derive(Debug, Default)]
pub(super) struct Lanes(Vec<Vec<(u64, u64)>>);

impl Lanes {
    /// Returns the number of a duration's track: 0 for the thread's own track.
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

/// Returns whether a new duration is nested in the open ones, or they in it.
#[inline]
fn fits(lane: &[(u64, u64)], start: u64, end: u64) -> bool {
    // Open durations are nested: the last one ends first.
    lane.last().is_none_or(|(from, to)| end <= *to || start <= *from)
}

#[inline]
fn push(lane: &mut Vec<(u64, u64)>, start: u64, end: u64) {
    let is_outer = lane.last().is_some_and(|(_, to)| end > *to);
    // An outer duration that follows its inner ones needs no place: they end first.
    if !is_outer && lane.len() < MAX_DEPTH {
        lane.push((start, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_durations_get_further_lanes() {
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
    fn outer_durations_may_follow_inner_ones() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.place(10, 20), 0);
        assert_eq!(lanes.place(5, 50), 0);
        assert_eq!(lanes.place(30, 40), 0);
    }
}
