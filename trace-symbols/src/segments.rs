//! Addresses in a file.

use object::{Object, ObjectSegment, ReadRef};

/// The loaded segments of a file.
#[derive(Debug, Clone, Default)]
pub struct Segments(Vec<Segment>);

#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
}

impl Segments {
    /// Returns the segments of a file.
    #[must_use]
    pub fn of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        let segment = |segment: object::Segment<'a, '_, R>| {
            let (offset, size) = segment.file_range();
            Segment { offset, size, address: segment.address() }
        };
        Self(file.segments().map(segment).collect())
    }

    /// Returns the address in the file of the first byte of a mapping of `size` bytes of the file
    /// from `offset` on. Both are in bytes.
    #[must_use]
    pub fn address(&self, offset: u64, size: u64) -> Option<u64> {
        let end = offset.checked_add(size)?;
        // The kernel maps whole pages, which begin before the segment.
        let segment = self.0.iter().rev().find(|segment| {
            segment.offset < end
                && segment.offset.saturating_add(segment.size) > offset
                && segment.offset & !0xfff <= offset
        })?;
        Some(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_begin_before_their_segment() {
        let segment = |offset, size, address| Segment { offset, size, address };
        let segments = Segments(vec![segment(0, 0x800, 0), segment(0x810, 0x1000, 0x2810)]);
        assert_eq!(segments.address(0, 0x1000), Some(0x2000), "the later one is in use");
        assert_eq!(segments.address(0x1000, 0x1000), Some(0x3000));
        assert_eq!(segments.address(0x2000, 0x1000), None);
        assert_eq!(segments.address(u64::MAX, 2), None);
    }
}
