//! The executable mappings of a process.

use std::cell::Cell;
use std::fs;
use std::io;
use std::ops::Range;

use super::ptrace::Tid;
use crate::recording::Mapping;

/// The size of a page.
pub(super) const PAGE_BYTES: u64 = 4096;

/// Returns the address of the page with `address`.
pub(super) fn page_of(address: u64) -> u64 {
    address & !(PAGE_BYTES - 1)
}

/// A mapping with code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeMapping {
    pub(super) mapping: Mapping,
    /// Whether its code changes only by system calls of its process: it is private, not writable,
    /// and not a second view of writable memory.
    pub(super) is_private: bool,
}

/// The mappings with code of an address space.
#[derive(Debug, Default)]
pub(super) struct Mappings {
    /// By address. None overlaps another.
    sorted: Vec<CodeMapping>,
    /// The index of the one that was found last, which most instructions are in.
    last: Cell<usize>,
}

impl Mappings {
    pub(super) fn new(mut mappings: Vec<CodeMapping>) -> Self {
        mappings.sort_by_key(|known| known.mapping.address);
        Self { sorted: mappings, last: Cell::new(0) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CodeMapping> {
        self.sorted.iter()
    }

    /// Returns the mapping with `address`.
    pub(super) fn at(&self, address: u64) -> Option<&CodeMapping> {
        if let Some(found) = self.with(self.last.get(), address) {
            return Some(found);
        }
        let behind = self.sorted.partition_point(|known| known.mapping.address <= address);
        let index = behind.checked_sub(1)?;
        let found = self.with(index, address)?;
        self.last.set(index);
        Some(found)
    }

    /// Returns a mapping if it has `address`.
    fn with(&self, index: usize, address: u64) -> Option<&CodeMapping> {
        self.sorted.get(index).filter(|known| known.mapping.contains(address))
    }

    /// Returns whether these addresses have parts of mappings.
    pub(super) fn any_in(&self, addresses: &Range<u64>) -> bool {
        let before = self.sorted.partition_point(|known| known.mapping.address < addresses.end);
        let last = before.checked_sub(1).and_then(|index| self.sorted.get(index));
        last.is_some_and(|known| known.mapping.end() > addresses.start)
    }
}

/// Returns the executable mappings of the process of `tid`, without build ids.
pub(super) fn executable(tid: Tid) -> io::Result<Vec<CodeMapping>> {
    let text = fs::read(format!("/proc/{}/maps", tid.0))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(parse).collect())
}

/// Returns the end of the mapping with `address`.
pub(super) fn end_of(tid: Tid, address: u64) -> Option<u64> {
    let text = fs::read(format!("/proc/{}/maps", tid.0)).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut places =
        text.lines().filter_map(|line| addresses(line.split_ascii_whitespace().next()?));
    places.find(|(start, end)| (*start..*end).contains(&address)).map(|(_, end)| end)
}

/// Parses `START-END`.
fn addresses(text: &str) -> Option<(u64, u64)> {
    let (start, end) = text.split_once('-')?;
    Some((hex(start)?, hex(end)?))
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// Parses a line such as `55e0c7a00000-55e0c7a02000 r-xp 00002000 fe:00 1234   /bin/cat`.
fn parse(line: &str) -> Option<CodeMapping> {
    let mut columns = line.split_ascii_whitespace();
    let (address, end) = addresses(columns.next()?)?;
    let &[_, write, b'x', share, ..] = columns.next()?.as_bytes() else { return None };
    let offset = hex(columns.next()?)?;
    // The path is the rest of the line, with its spaces.
    let path = line.splitn(6, ' ').nth(5).unwrap_or_default().trim_start().to_owned();
    // Memory without a name in the file system is mapped twice where one view is written.
    let is_memory = path.starts_with("/memfd:") || path.starts_with("/dev/");
    let is_private = write != b'w' && share == b'p' && !is_memory;
    let size = end.saturating_sub(address);
    Some(CodeMapping {
        mapping: Mapping { address, size, offset, path, build_id: None },
        is_private,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_has_an_end() {
        let local = 0_u8;
        let address = (&raw const local).addr() as u64;
        let end = end_of(Tid(rustix::thread::gettid().as_raw_nonzero().get()), address).unwrap();
        assert!(end > address && end % PAGE_BYTES == 0);
        assert_eq!(end_of(Tid(-1), address), None);
    }

    #[test]
    fn mappings_are_found_by_their_addresses() {
        let mapping = |(address, size)| CodeMapping {
            mapping: Mapping { address, size, offset: 0, path: String::new(), build_id: None },
            is_private: true,
        };
        let places = [(0x5000, 0x1000), (0x1000, 0x2000), (0x3000, 0x1000)];
        let mappings = Mappings::new(places.map(mapping).to_vec());
        let at = |address| mappings.at(address).map(|known| known.mapping.address);
        // Each place is found from each other one, which was found before.
        let expected = [
            (0xfff, None),
            (0x1000, Some(0x1000)),
            (0x2fff, Some(0x1000)),
            (0x3000, Some(0x3000)),
            (0x4000, None),
            (0x5fff, Some(0x5000)),
            (0x6000, None),
        ];
        for (before, _) in expected {
            for (address, place) in expected {
                at(before);
                assert_eq!(at(address), place, "0x{address:x} after 0x{before:x}");
            }
        }
        let any_in = |range| mappings.any_in(&range);
        assert!(any_in(0..0x1001) && any_in(0x2fff..0x3000) && any_in(0..u64::MAX));
        assert!(!any_in(0..0x1000) && !any_in(0x4000..0x5000) && !any_in(0x6000..0x7000));
        assert_eq!(Mappings::default().at(0), None);
    }

    #[test]
    fn lines_of_code_are_mappings() {
        let line = "7f0000001000-7f0000003000 r-xp 00002000 fe:00 1234      /a directory/x y";
        let CodeMapping { mapping, is_private } = parse(line).unwrap();
        assert!(is_private);
        assert_eq!((mapping.address, mapping.size), (0x7f00_0000_1000, 0x2000));
        assert_eq!((mapping.offset, &*mapping.path), (0x2000, "/a directory/x y"));
        let anonymous = parse("1000-2000 rwxp 00000000 00:00 0 ").unwrap();
        assert!(!anonymous.is_private, "it is writable");
        let Mapping { path, build_id, .. } = anonymous.mapping;
        assert_eq!((path, build_id), (String::new(), None));
        assert!(!parse("1000-2000 r-xs 00000000 00:00 1 /x").unwrap().is_private);
        assert!(!parse("1000-2000 r-xp 00000000 00:00 1 /memfd:x (deleted)").unwrap().is_private);
        assert_eq!(parse("1000-2000 rw-p 00000000 00:00 0 "), None);
        assert_eq!(parse("x"), None);
    }
}
