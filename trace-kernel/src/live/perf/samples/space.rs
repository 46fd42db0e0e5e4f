//! The mapped code of a process, which processes share until one of them changes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::mapping::Mapping;

/// The most mappings of a process.
const MAX_MAPPINGS: usize = 1 << 16;

/// Mappings by their first address. They do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    mappings: BTreeMap<u64, Mapping>,
    /// The bytes of memory that they need.
    bytes: usize,
}

impl Space {
    pub(super) fn of(mappings: Vec<Mapping>) -> Self {
        let mut space = Self::default();
        for mapping in mappings {
            space.add(mapping);
        }
        space
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.mappings.len()
    }

    pub(super) fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.values()
    }

    /// Returns the mapping of an address.
    pub(super) fn at(&self, address: u64) -> Option<&Mapping> {
        let (_, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end()).then_some(mapping)
    }

    /// Adds a mapping to a space that others may share. Returns the mappings of which a part is
    /// replaced, or `None` if there is no room or there are too many. `room` is a number of bytes,
    /// which the space uses or returns.
    pub(super) fn change(
        space: &mut Arc<Self>,
        room: &mut usize,
        mapping: Mapping,
    ) -> Option<Vec<Mapping>> {
        let copied = if Arc::strong_count(space) > 1 { space.bytes } else { 0 };
        let rest = room.checked_sub(copied)?;
        // Both parts of a divided mapping may be left.
        let most = mapping.bytes().saturating_add(space.last(&mapping));
        if rest < most || space.len() >= MAX_MAPPINGS {
            return None;
        }
        let space = Arc::make_mut(space);
        let before = space.bytes;
        let replaced = space.add(mapping);
        *room = rest.saturating_add(before).saturating_sub(space.bytes);
        Some(replaced)
    }

    /// Returns the bytes of the last mapping that begins before the end of another.
    fn last(&self, mapping: &Mapping) -> usize {
        let last = self.mappings.range(..mapping.end()).next_back();
        last.map_or(0, |(_, last)| last.bytes())
    }

    /// Adds a mapping. Returns those that overlap it; their other parts stay.
    fn add(&mut self, mapping: Mapping) -> Vec<Mapping> {
        let mut replaced = Vec::new();
        if mapping.length == 0 {
            return replaced;
        }
        while let Some((_, last)) = self.mappings.range(..mapping.end()).next_back() {
            if last.end() <= mapping.start {
                break;
            }
            let start = last.start;
            replaced.extend(self.remove(start));
        }
        for older in &replaced {
            older.without(&mapping).into_iter().for_each(|part| self.insert(part));
        }
        self.insert(mapping);
        replaced
    }

    fn insert(&mut self, mapping: Mapping) {
        self.bytes = self.bytes.saturating_add(mapping.bytes());
        self.mappings.insert(mapping.start, mapping);
    }

    fn remove(&mut self, start: u64) -> Option<Mapping> {
        let mapping = self.mappings.remove(&start)?;
        self.bytes = self.bytes.saturating_sub(mapping.bytes());
        Some(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::record::MappedFile;
    use super::*;

    fn mapping(ticks: u64, start: u64, length: u64, path: &str) -> Mapping {
        let (process, offset, protection, inode) = (7, 0x100, 5, None);
        let (build_id, path) = ([].into(), path.as_bytes().into());
        let file = MappedFile { process, start, length, offset, protection, build_id, inode, path };
        Mapping::of(ticks, &file)
    }

    fn found(space: &Space, address: u64) -> Option<(&str, u64, u64)> {
        let found = space.at(address)?;
        Some((found.path.to_str()?, found.ticks, found.offset))
    }

    #[test]
    fn what_a_mapping_does_not_replace_stays() {
        let first = mapping(1, 0x1000, 0x4000, "/a");
        let space = Space::of(vec![first, mapping(2, 0x2000, 0x1000, "/b")]);
        for (address, expected) in [
            (0xfff, None),
            (0x1fff, Some(("/a", 2, 0x100))),
            (0x2000, Some(("/b", 2, 0x100))),
            (0x3000, Some(("/a", 2, 0x2100))),
            (0x4fff, Some(("/a", 2, 0x2100))),
            (0x5000, None),
        ] {
            assert_eq!(found(&space, address), expected, "{address:x}");
        }
        assert_eq!(space.bytes(), space.mappings().map(Mapping::bytes).sum::<usize>());
        let all = Space::of(vec![space.at(0x1000).unwrap().clone(), mapping(3, 0, u64::MAX, "/c")]);
        assert_eq!((all.len(), found(&all, 0x1000)), (1, Some(("/c", 3, 0x100))));
        assert_eq!(Space::of(vec![mapping(1, 5, 0, "/a")]).len(), 0);
    }

    #[test]
    fn a_shared_space_is_copied_once_if_there_is_room() {
        let mut room = 1 << 20;
        let mut space = Arc::new(Space::of(vec![mapping(1, 0x1000, 0x1000, "/a")]));
        let shared = Arc::clone(&space);
        let bytes = shared.bytes();
        let mut none = bytes;
        let add = |start| mapping(2, start, 0x1000, "/b");
        assert!(Space::change(&mut space, &mut none, add(0x8000)).is_none());
        assert_eq!(none, bytes);
        assert!(Space::change(&mut space, &mut room, add(0x8000)).unwrap().is_empty());
        assert_eq!(room, (1 << 20) - 2 * bytes);
        assert_eq!(Space::change(&mut space, &mut room, add(0x1000)).unwrap().len(), 1);
        assert_eq!(room, (1 << 20) - 2 * bytes);
        assert_eq!((found(&space, 0x1000), found(&shared, 0x1000)).0.unwrap().0, "/b");
        assert_eq!((shared.len(), found(&shared, 0x1000).unwrap().0), (1, "/a"));
    }
}
