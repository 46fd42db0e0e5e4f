//! The code of a traced program.

use std::collections::BTreeMap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use std::ops::Range;

/// Code by address. Later code replaces earlier code at the same address.
///
/// # Examples
///
/// ```
/// use trace_insntrace::flow::Image;
///
/// let mut image = Image::new();
/// image.insert(0x1000, &[0x90; 4]);
/// image.insert(0x1002, &[0xc3]);
/// let mut bytes = [0; 8];
/// assert_eq!(image.read(0x1001, &mut bytes), 3);
/// assert_eq!(bytes[..3], [0x90, 0xc3, 0x90]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// Sections by start address. They do not overlap, and none is empty.
    sections: BTreeMap<u64, Vec<u8>>,
}

impl Image {
    /// Creates an image without code.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts `bytes` at `address`. Bytes that would lie beyond the last address are dropped.
    pub fn insert(&mut self, address: u64, bytes: &[u8]) {
        let end = end_of(address, bytes.len());
        self.remove(address, end - address);
        let bytes = bytes.get(..(end - address) as usize).unwrap_or_default();
        if !bytes.is_empty() {
            self.sections.insert(address, bytes.to_vec());
        }
    }

    /// Returns the code in order, each part with its address.
    pub fn sections(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.sections.iter().map(|(start, bytes)| (*start, &bytes[..]))
    }

    /// Returns whether no other bytes are known at the addresses of these ones.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn agrees(&self, address: u64, bytes: &[u8]) -> bool {
        let end = end_of(address, bytes.len());
        let before = self.sections.range(..address).next_back();
        let mut sections = before.into_iter().chain(self.sections.range(address..end));
        sections.all(|(start, known)| {
            // Behind their start, in the section and in these bytes.
            let behind = |of: u64| usize::try_from(address.max(*start) - of).ok();
            let known = behind(*start).and_then(|at| known.get(at..)).unwrap_or_default();
            let bytes = behind(address).and_then(|at| bytes.get(at..)).unwrap_or_default();
            known.iter().zip(bytes).all(|(known, byte)| known == byte)
        })
    }

    /// Removes `size` bytes from `address` on.
    pub fn remove(&mut self, address: u64, size: u64) {
        let end = address.saturating_add(size);
        let before = self.sections.range(..address).next_back().map(|(start, _)| *start);
        let within = self.sections.range(address..end).map(|(start, _)| *start);
        let starts: Vec<_> = before.into_iter().chain(within).collect();
        for start in starts {
            self.cut(start, address, end);
        }
    }

    /// Keeps the sections for whose addresses `is_kept` holds. Returns addresses that have all the
    /// others, if there are any.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&Range<u64>) -> bool) -> Option<Range<u64>> {
        let mut removed: Option<Range<u64>> = None;
        self.sections.retain(|start, bytes| {
            let addresses = *start..end_of(*start, bytes.len());
            let is_kept = is_kept(&addresses);
            if !is_kept {
                // In the order of addresses.
                let start = removed.as_ref().map_or(addresses.start, |removed| removed.start);
                removed = Some(start..addresses.end);
            }
            is_kept
        });
        removed
    }

    /// Removes `address .. end` from the section at `start`.
    fn cut(&mut self, start: u64, address: u64, end: u64) {
        let Some(bytes) = self.sections.remove(&start) else {
            return;
        };
        let position = |address: u64| {
            usize::try_from(address.saturating_sub(start))
                .map_or(bytes.len(), |at| at.min(bytes.len()))
        };
        let (head, tail) = (position(address), position(end));
        let parts = [(start, bytes.get(..head)), (end, bytes.get(tail..))];
        for (start, part) in parts {
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                self.sections.insert(start, part.to_vec());
            }
        }
    }

    /// Copies code from `address` on to `buffer`, and returns the number of bytes without a gap.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let found = address.checked_add(filled as u64).and_then(|at| self.section_from(at));
            let Some(found) = found else {
                break;
            };
            let size = found.len().min(rest.len());
            rest.iter_mut().zip(found).for_each(|(to, from)| *to = *from);
            filled += size;
        }
        filled
    }

    /// Returns the bytes from `address` to the end of its section.
    fn section_from(&self, address: u64) -> Option<&[u8]> {
        let (start, bytes) = self.sections.range(..=address).next_back()?;
        let rest = bytes.get(usize::try_from(address - start).ok()?..)?;
        (!rest.is_empty()).then_some(rest)
    }
}

fn end_of(address: u64, size: usize) -> u64 {
    address.saturating_add(size as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(image: &Image, address: u64, size: usize) -> Vec<u8> {
        let mut buffer = vec![0; size];
        let filled = image.read(address, &mut buffer);
        buffer.truncate(filled);
        buffer
    }

    #[test]
    fn later_code_replaces_earlier_code() {
        let mut image = Image::new();
        image.insert(10, &[1; 10]);
        image.insert(30, &[2; 10]);
        image.insert(15, &[3; 20]);
        assert_eq!(read(&image, 10, 99), [[1; 5].as_slice(), &[3; 20], &[2; 5]].concat());
        assert_eq!(read(&image, 40, 9), [0; 0]);
        assert_eq!(read(&image, 9, 9), [0; 0]);
        image.insert(12, &[4]);
        assert_eq!(read(&image, 11, 3), [1, 4, 1]);
        let starts: Vec<_> = image.sections().map(|(start, bytes)| (start, bytes.len())).collect();
        assert_eq!(starts, [(10, 2), (12, 1), (13, 2), (15, 20), (35, 5)]);
    }

    #[test]
    fn removed_code_is_not_read() {
        let mut image = Image::new();
        image.insert(10, &[1; 10]);
        image.remove(12, 2);
        assert_eq!((read(&image, 10, 9), read(&image, 14, 9)), (vec![1; 2], vec![1; 6]));
        image.remove(0, 100);
        assert_eq!(image.sections.len(), 0);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn bytes_agree_if_all_known_ones_are_the_same() {
        let mut image = Image::new();
        image.insert(10, &[1, 2, 3]);
        image.insert(15, &[4, 5]);
        for (address, bytes, expected) in [
            (8, &[0, 0, 1, 2, 3, 0, 0, 4, 5, 0][..], true),
            (8, &[0, 0, 1, 2, 9], false),
            (11, &[2, 3, 9, 9, 4], true),
            (12, &[3, 9, 9, 4, 9], false),
            (16, &[5], true),
            (16, &[4], false),
            (17, &[9], true),
            (0, &[9; 10], true),
            (12, &[], true),
        ] {
            assert_eq!(image.agrees(address, bytes), expected, "{address} {bytes:?}");
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn the_addresses_of_removed_sections_are_returned() {
        let mut image = Image::new();
        for address in [10, 20, 30, 40] {
            image.insert(address, &[1; 5]);
        }
        let removed = image.retain(|addresses| ![20, 30].contains(&addresses.start));
        assert_eq!(removed, Some(20..35));
        assert_eq!(image.retain(|_| true), None);
        assert_eq!(image.sections().map(|(start, _)| start).collect::<Vec<_>>(), [10, 40]);
    }

    #[test]
    fn the_address_space_ends() {
        let mut image = Image::new();
        image.insert(u64::MAX - 2, &[1; 10]);
        assert_eq!(read(&image, u64::MAX - 2, 9), [1, 1]);
        image.insert(u64::MAX, &[1]);
        assert_eq!(read(&image, u64::MAX, 1), [0; 0]);
    }
}
