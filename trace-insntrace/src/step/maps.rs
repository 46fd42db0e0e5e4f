//! The executable mappings of a process.

use std::fs;
use std::io;

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
