//! The code of a traced program.

use std::collections::BTreeMap;

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

    #[test]
    fn the_address_space_ends() {
        let mut image = Image::new();
        image.insert(u64::MAX - 2, &[1; 10]);
        assert_eq!(read(&image, u64::MAX - 2, 9), [1, 1]);
        image.insert(u64::MAX, &[1]);
        assert_eq!(read(&image, u64::MAX, 1), [0; 0]);
    }
}
