//! The unread bytes of a ring buffer.

use std::io;
use std::ops::Range;

use super::sys::{Event, Mapping};

/// The smallest size of a ring buffer in bytes. The largest page has as many.
pub(super) const MIN_BYTES: usize = 64 << 10;

/// The ring buffer of a CPU.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Mapping,
}

impl Ring {
    /// Maps the ring buffers of these events. If the user may not lock as much memory, all are
    /// smaller.
    pub(super) fn map<'a>(
        events: impl Iterator<Item = &'a Event> + Clone,
        bytes: u64,
    ) -> io::Result<Vec<Self>> {
        let mut size = rounded(bytes);
        loop {
            let map = |event| Ok(Self { mapping: Mapping::new(event, size)? });
            match events.clone().map(map).collect::<io::Result<Vec<_>>>() {
                Err(_) if size > MIN_BYTES => size /= 2,
                rings => return rings,
            }
        }
    }

    /// Replaces `bytes` by the unread records, which the kernel may overwrite then.
    pub(super) fn read(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        take(&self.mapping, bytes);
    }
}

/// Appends the unread records of a buffer, which the kernel may overwrite then.
pub(super) fn take(mapping: &Mapping, bytes: &mut Vec<u8>) {
    let (head, tail) = (mapping.head(), mapping.tail());
    for part in parts(tail, head, mapping.size()) {
        mapping.append_to(bytes, part.start, part.len());
    }
    mapping.set_tail(head);
}

/// Returns the size of a buffer of at least this many bytes.
fn rounded(bytes: u64) -> usize {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(MIN_BYTES);
    bytes.checked_next_power_of_two().unwrap_or(1 << 30).min(1 << 30)
}

/// Returns the places of the bytes between two positions: two, if they wrap around the buffer's
/// end. `size` is a power of two.
fn parts(tail: u64, head: u64, size: usize) -> [Range<usize>; 2] {
    let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX).min(size);
    let start = tail as usize & (size - 1);
    let first = length.min(size - start);
    [start..start + first, 0..length - first]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_bytes_wrap_around_the_end() {
        for (tail, head, expected) in [
            (0, 0, [0..0, 0..0]),
            (0, 10, [0..10, 0..0]),
            (60, 64, [60..64, 0..0]),
            (60, 70, [60..64, 0..6]),
            (64, 128, [0..64, 0..0]),
            (100, 164, [36..64, 0..36]),
            (u64::MAX - 3, 4, [60..64, 0..4]),
            // A damaged head.
            (4, 2, [4..64, 0..4]),
        ] {
            assert_eq!(parts(tail, head, 64), expected, "{tail} {head}");
        }
    }

    #[test]
    fn sizes_are_powers_of_two() {
        for (bytes, size) in [(0, 64 << 10), (65_537, 128 << 10), (8 << 20, 8 << 20)] {
            assert_eq!(rounded(bytes), size);
        }
        assert_eq!(rounded(u64::MAX), 1 << 30);
    }
}
