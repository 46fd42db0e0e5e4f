//! The mappings that others have replaced.

use std::collections::BTreeMap;

use super::Mapping;

/// The mappings of a process that others have replaced, for searches by time and address.
///
/// At any time, the mappings of a process do not overlap. A mapping of at least 2^k bytes, and less
/// than twice as many, contains one or two multiples of 2^k. It is found by each of them and by its
/// time: at most one mapping contains the multiple at that time. Of an address in the mapping, the
/// multiple before or after it is one of them. A search therefore takes two steps for each k.
#[derive(Debug, Default)]
pub(super) struct Past {
    mappings: BTreeMap<Key, Mapping>,
    /// The k of all mappings, a bit for each.
    scales: u64,
}

/// A k, a multiple of 2^k as its factor, and the time of the mapping's begin.
type Key = (u32, u64, u64);

impl Past {
    pub(super) fn add(&mut self, mapping: Mapping) {
        let Mapping { start, end, since, .. } = mapping;
        let Some(scale) = (end - start).checked_ilog2() else { return };
        self.scales |= 1 << scale;
        let first = start.div_ceil(1 << scale);
        let last = (end - 1) >> scale;
        for multiple in first..=last {
            self.mappings.insert((scale, multiple, since), mapping);
        }
    }

    /// Returns the mapping that a process had at an address at a time.
    pub(super) fn find(&self, nanos: u64, address: u64) -> Option<Mapping> {
        let mut scales = self.scales;
        while scales != 0 {
            let scale = scales.trailing_zeros();
            scales &= scales - 1;
            let before = address >> scale;
            for multiple in [before, before.saturating_add(1)] {
                let keys = (scale, multiple, 0)..=(scale, multiple, nanos);
                let found = self.mappings.range(keys).next_back().map(|(_, mapping)| *mapping);
                let found = found.filter(|mapping| mapping.has(address) && nanos < mapping.until);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(module: u32, start: u64, length: u64, (since, until): (u64, u64)) -> Mapping {
        Mapping { module, start, end: start.saturating_add(length), address: 0, since, until }
    }

    #[test]
    fn a_mapping_of_any_size_is_found_at_each_of_its_addresses() {
        for (start, length) in [(0, 1), (5, 1), (5, 2), (5, 3), (7, 9), (8, 8), (1, 31), (31, 33)] {
            let mut past = Past::default();
            past.add(mapping(1, start, length, (10, 20)));
            for address in 0..80 {
                let has = (start..start + length).contains(&address);
                for (nanos, is_then) in [(9, false), (10, true), (19, true), (20, false)] {
                    let found = past.find(nanos, address).is_some();
                    assert_eq!(found, has && is_then, "{start} {length} {address} {nanos}");
                }
            }
            assert!(past.mappings.len() <= 2);
        }
    }

    #[test]
    fn the_largest_mapping_and_the_last_address() {
        let mut past = Past::default();
        past.add(mapping(1, 0, u64::MAX, (0, 10)));
        past.add(mapping(2, u64::MAX - 1, 5, (10, 20)));
        past.add(mapping(3, 7, 0, (10, 20)));
        assert_eq!(past.find(5, u64::MAX - 1).unwrap().module, 1);
        assert_eq!(past.find(15, u64::MAX - 1).unwrap().module, 2);
        assert_eq!(past.find(15, u64::MAX), None);
        assert_eq!(past.find(15, 7), None);
    }
}
