//! The executable mappings of a process.

use std::fs;
use std::io;

use super::ptrace::Tid;
use crate::recording::Mapping;

/// Returns the executable mappings of the process of `tid`, without build ids.
pub(super) fn executable(tid: Tid) -> io::Result<Vec<Mapping>> {
    let text = fs::read(format!("/proc/{}/maps", tid.0))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(parse).collect())
}

/// Parses a line such as `55e0c7a00000-55e0c7a02000 r-xp 00002000 fe:00 1234   /bin/cat`.
fn parse(line: &str) -> Option<Mapping> {
    let mut columns = line.split_ascii_whitespace();
    let (start, end) = columns.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (address, end) = (hex(start)?, hex(end)?);
    let is_executable = columns.next()?.as_bytes().get(2) == Some(&b'x');
    let offset = hex(columns.next()?)?;
    // The path is the rest of the line, with its spaces.
    let path = line.splitn(6, ' ').nth(5).unwrap_or_default().trim_start().to_owned();
    is_executable.then(|| Mapping {
        address,
        size: end.saturating_sub(address),
        offset,
        path,
        build_id: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_are_mappings() {
        let line = "7f0000001000-7f0000003000 r-xp 00002000 fe:00 1234      /a directory/x y";
        let mapping = parse(line).unwrap();
        assert_eq!((mapping.address, mapping.size), (0x7f00_0000_1000, 0x2000));
        assert_eq!((mapping.offset, &*mapping.path), (0x2000, "/a directory/x y"));
        let anonymous = parse("1000-2000 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.path, anonymous.build_id), (String::new(), None));
        assert_eq!(parse("1000-2000 rw-p 00000000 00:00 0 "), None);
        assert_eq!(parse("x"), None);
    }
}
