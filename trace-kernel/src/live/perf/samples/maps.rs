//! The mapped code of a process that exists already.

use std::fs;
use std::path::Path;

use super::super::record::Inode;
use super::mapping::Mapping;

/// Returns the mapped code of a process; nothing if it has ended, or belongs to another user.
pub(in crate::live::perf) fn read(process: u32) -> Vec<Mapping> {
    let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    maps.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// Parses a line: `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn parse(line: &[u8]) -> Option<Mapping> {
    let line = String::from_utf8_lossy(line);
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end, permissions) = (hex(start)?, hex(end)?, fields.next()?);
    let offset = hex(fields.next()?)?;
    let flag = |letter, bit| if permissions.contains(letter) { bit } else { 0 };
    let protection = flag('r', 1) | flag('w', 2) | flag('x', 4);
    let inode = inode(fields.next()?, fields.next()?);
    let path = fields.next().unwrap_or_default().trim_start();
    let path = if path.is_empty() { "//anon" } else { path };
    let path = Path::new(path).into();
    let length = end.checked_sub(start)?;
    let build_id = [].into();
    let mapping = Mapping { ticks: 0, start, length, offset, protection, build_id, inode, path };
    (protection & 4 != 0).then_some(mapping)
}

/// Parses `MAJOR:MINOR` and the number of the inode, which is 0 without a file.
fn inode(device: &str, number: &str) -> Option<Inode> {
    let (major, minor) = device.split_once(':')?;
    let hex = |text| u32::from_str_radix(text, 16).ok();
    let inode = Inode { major: hex(major)?, minor: hex(minor)?, number: number.parse().ok()? };
    (inode.number != 0).then_some(inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_are_mappings() {
        let line = b"7f00-8f00 r-xp 0001a000 fe:01 123        /usr/lib/a b.so";
        let mapping = parse(line).unwrap();
        assert_eq!((mapping.start, mapping.length, mapping.offset), (0x7f00, 0x1000, 0x1a000));
        assert_eq!((mapping.protection, &*mapping.path), (5, Path::new("/usr/lib/a b.so")));
        assert_eq!(mapping.inode, Some(Inode { major: 0xfe, minor: 1, number: 123 }));
        let anonymous = parse(b"7f00-8f00 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.protection, &*anonymous.path), (7, Path::new("//anon")));
        assert_eq!(anonymous.inode, None);
        for wrong in [&b"7f00-8f00 r--p 0 fe:01 1 /x"[..], b"", b"x-y r-xp 0 0 0 /x", b"9-8 r-xp 0"]
        {
            assert!(parse(wrong).is_none());
        }
    }

    #[test]
    fn this_process_has_its_program() {
        let program = std::env::current_exe().unwrap();
        assert!(read(std::process::id()).iter().any(|mapping| *mapping.path == *program));
        assert!(read(u32::MAX).is_empty());
    }
}
