//! Addresses in a file.

use object::{elf, Object, ObjectSegment, ReadRef, SegmentFlags};

/// The loaded segments of a file that have code.
#[derive(Debug, Clone, Default)]
pub struct Segments(Vec<Segment>);

#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
}

impl Segments {
    /// Returns the segments of a file that have code.
    #[must_use]
    pub fn of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Self {
        let segment = |segment: object::Segment<'a, '_, R>| {
            let (offset, size) = segment.file_range();
            Segment { offset, size, address: segment.address() }
        };
        // Data may begin in the page of the file where code ends.
        let is_code = |segment: &object::Segment<'a, '_, R>| match segment.flags() {
            SegmentFlags::Elf { p_flags } => p_flags & elf::PF_X != 0,
            _ => true,
        };
        Self(file.segments().filter(is_code).map(segment).collect())
    }

    /// Returns the offset in the file of the code at an address of the file.
    #[must_use]
    pub fn offset(&self, address: u64) -> Option<u64> {
        let within = |segment: &Segment| {
            let offset = address.checked_sub(segment.address)?;
            (offset < segment.size).then(|| segment.offset.checked_add(offset)).flatten()
        };
        self.0.iter().find_map(within)
    }

    /// Returns the address in the file of the first byte of a mapping of code: `size` bytes of the
    /// file from `offset` on. Both are in bytes.
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

    /// Returns a file with these loaded segments: flags, offset, size and address.
    fn file_with(segments: &[(u32, u64, u64, u64)]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        // A library for x86-64, version 1, without an entry point.
        bytes.extend([3, 0, 62, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        // The program headers begin at byte 64, and there are no sections.
        bytes.extend([64_u64, 0].map(u64::to_le_bytes).as_flattened());
        let count = segments.len() as u16;
        bytes.extend([0, 0, 64, 56, count, 64, 0, 0].map(u16::to_le_bytes).as_flattened());
        for (flags, offset, size, address) in segments {
            bytes.extend([elf::PT_LOAD, *flags].map(u32::to_le_bytes).as_flattened());
            let fields = [*offset, *address, *address, *size, *size, 0x1000];
            bytes.extend(fields.map(u64::to_le_bytes).as_flattened());
        }
        bytes
    }

    #[test]
    fn data_in_the_page_of_code_is_not_taken_for_it() {
        let (read, code, write) = (elf::PF_R, elf::PF_R | elf::PF_X, elf::PF_R | elf::PF_W);
        let table = [
            (read, 0, 0x500, 0),
            (code, 0x500, 0x300, 0x1500),
            (write, 0x800, 0x100, 0x2800),
            (read, 0x900, 0x80, 0x3900),
        ];
        let bytes = file_with(&table);
        let segments = Segments::of(&object::File::parse(&*bytes).unwrap());
        assert_eq!(segments.address(0, 0x1000), Some(0x1000));
        let offsets = [0x14ff, 0x1500, 0x17ff, 0x1800, 0x2800].map(|it| segments.offset(it));
        assert_eq!(offsets, [None, Some(0x500), Some(0x7ff), None, None]);
    }

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
