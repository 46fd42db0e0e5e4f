//! The lengths of closed durations, for a later one around them.

/// The most elements that an insertion moves.
const MAX_MOVED: usize = 1 << 13;

/// A closed duration, or a group of neighbours.
#[derive(Debug, Clone, Copy)]
struct Closed {
    begin: u64,
    end: u64,
    /// The sum of the lengths.
    ticks: u64,
}

/// Closed durations without a closed one around them, in the order of time. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct Pending {
    list: Vec<Closed>,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the begin of the last one.
    #[inline]
    pub(super) fn last_begin(&self) -> Option<u64> {
        self.list.last().map(|closed| closed.begin)
    }

    /// Replaces the durations within the new, last one.
    #[inline]
    pub(super) fn close(&mut self, begin: u64, end: u64) {
        while self.last_begin().is_some_and(|last| last >= begin) {
            self.list.pop();
        }
        self.list.push(Closed { begin, end, ticks: end - begin });
    }

    /// Returns the sum of the lengths from `begin` to `end`.
    pub(super) fn sum(&self, begin: u64, end: u64) -> u64 {
        let closed = self.list.get(self.range(begin, end)).unwrap_or_default();
        closed.iter().map(|closed| closed.ticks).sum()
    }

    /// Replaces the durations within a new one at any place.
    pub(super) fn insert(&mut self, begin: u64, end: u64) {
        let closed = Closed { begin, end, ticks: end - begin };
        self.list.splice(self.range(begin, end), [closed]);
    }

    /// Returns whether a duration that begins or ends at `at` would cut a group.
    pub(super) fn cuts(&self, at: u64) -> bool {
        let place = self.list.partition_point(|closed| closed.end <= at);
        self.list.get(place).is_some_and(|closed| closed.begin < at)
    }

    /// Returns whether `at` is so early that an insertion there takes too long.
    pub(super) fn is_far(&self, at: u64) -> bool {
        let place = self.list.len().saturating_sub(MAX_MOVED);
        place > 0 && self.list.get(place).is_some_and(|closed| closed.begin >= at)
    }

    fn range(&self, begin: u64, end: u64) -> std::ops::Range<usize> {
        let from = self.list.partition_point(|closed| closed.begin < begin);
        let to = self.list.partition_point(|closed| closed.end <= end);
        from..to.max(from)
    }

    /// Groups pairs of neighbours, but for the newest quarter. Less than two thirds of the elements
    /// remain. `borders` are the begins of open durations, in order. No group extends over one.
    pub(super) fn compact(&mut self, mut borders: impl Iterator<Item = u64>) {
        let older = self.list.len() - self.list.len() / 4;
        let newer = self.list.split_off(older);
        let mut border = borders.next();
        let mut grouped: Vec<Closed> = Vec::with_capacity(older / 2 + newer.len() + 1);
        let mut is_open_group = false;
        for closed in self.list.drain(..) {
            let mut is_cut = false;
            while border.is_some_and(|border| border <= closed.begin) {
                border = borders.next();
                is_cut = true;
            }
            match grouped.last_mut() {
                Some(group) if is_open_group && !is_cut => {
                    group.end = closed.end;
                    group.ticks += closed.ticks;
                    is_open_group = false;
                }
                _ => {
                    grouped.push(closed);
                    is_open_group = true;
                }
            }
        }
        grouped.extend(newer);
        self.list = grouped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &[(u64, u64)]) -> Pending {
        let mut pending = Pending::default();
        list.iter().for_each(|(begin, end)| pending.close(*begin, *end));
        pending
    }

    #[test]
    fn a_sum_has_the_enclosed_durations() {
        let pending = of(&[(0, 2), (3, 5), (7, 8)]);
        assert_eq!(pending.sum(0, 8), 5);
        assert_eq!(pending.sum(1, 8), 3);
        assert_eq!(pending.sum(3, 7), 2);
        assert_eq!(pending.sum(9, 4), 0);
    }

    #[test]
    fn groups_do_not_extend_over_borders() {
        let list: Vec<(u64, u64)> = (0..16).map(|i| (10 * i, 10 * i + 4)).collect();
        let mut pending = of(&list);
        pending.compact([10, 50].into_iter());
        // [0] | [1 2] [3 4] | [5 6] [7 8] [9 10] [11] and the newest quarter.
        assert_eq!(pending.len(), 7 + 4);
        assert_eq!(pending.sum(10, 50), 16);
        assert_eq!(pending.sum(0, 1000), 64);
        assert!(pending.cuts(20) && !pending.cuts(30));
    }
}
