//! Maps of code that a just-in-time compiler has written, by the convention of `perf`: the file
//! `perf-PID.map` has a line for each function.
//!
//! ```text
//! 7f0c5a001000 40 fibonacci
//! ```
//!
//! The address and the size are in base 16. If functions overlap, the last one is the present one.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::open;

/// The most bytes of a file that are read.
const MAX_BYTES: u64 = 1 << 30;

/// The most bytes of a line. The rest of a longer one is a line of its own, which is malformed.
const MAX_LINE: u64 = 16 << 10;

/// Why a map cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfMapError {
    /// It is not there, is no regular file, or this user may not read it.
    Missing,
    /// It belongs to a user that is neither this one nor root, and could have any names.
    Foreign,
    /// It has more than 1 GiB.
    TooLarge,
    /// Reading it failed.
    Unreadable,
}

impl fmt::Display for PerfMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "is missing or not readable",
            Self::Foreign => "belongs to another user",
            Self::TooLarge => "has more than 1 GiB",
            Self::Unreadable => "cannot be read",
        })
    }
}

impl std::error::Error for PerfMapError {}

/// Returns the names of the functions at these addresses, by the map at `path`, which must belong
/// to `user` or root. Memory grows with the number of addresses, not with the size of the map.
///
/// # Errors
///
/// The map cannot be used.
pub fn perf_map_names(
    path: &Path,
    user: u32,
    addresses: impl IntoIterator<Item = u64>,
) -> Result<BTreeMap<u64, String>, PerfMapError> {
    let file = open(path).ok_or(PerfMapError::Missing)?;
    let metadata = file.metadata().map_err(|_| PerfMapError::Unreadable)?;
    if ![user, 0].contains(&metadata.uid()) {
        return Err(PerfMapError::Foreign);
    }
    if metadata.len() > MAX_BYTES {
        return Err(PerfMapError::TooLarge);
    }
    let names = names(BufReader::new(file.take(MAX_BYTES)), addresses);
    names.map_err(|_| PerfMapError::Unreadable)
}

fn names(
    mut map: impl BufRead,
    addresses: impl IntoIterator<Item = u64>,
) -> io::Result<BTreeMap<u64, String>> {
    let mut names: BTreeMap<u64, Option<String>> =
        addresses.into_iter().map(|address| (address, None)).collect();
    let mut line = Vec::new();
    while (&mut map).take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        if let Some((start, end, name)) = function(&line) {
            names.range_mut(start..end).for_each(|(_, found)| *found = Some(name.to_owned()));
        }
        line.clear();
    }
    Ok(names.into_iter().filter_map(|(address, name)| Some((address, name?))).collect())
}

/// Returns the first address, the address behind, and the name of a line's function.
fn function(line: &[u8]) -> Option<(u64, u64, &str)> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (start, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let (start, size) = (number(start)?, number(size)?);
    let end = start.checked_add(size)?;
    (size > 0 && !name.is_empty()).then_some((start, end, name))
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(map: &[u8], addresses: &[u64]) -> Vec<(u64, String)> {
        names(map, addresses.iter().copied()).unwrap().into_iter().collect()
    }

    #[test]
    fn a_function_has_the_addresses_of_its_size() {
        let map = b"1000 10 first\n0x1010 0x20 second (a, b)\n";
        let all = found(map, &[0xfff, 0x1000, 0x100f, 0x1010, 0x102f, 0x1030]);
        let name = |address, name: &str| (address, name.to_owned());
        let (first, second) = ("first", "second (a, b)");
        let expected = [(0x1000, first), (0x100f, first), (0x1010, second), (0x102f, second)];
        assert_eq!(all, expected.map(|(address, text)| name(address, text)));
    }

    #[test]
    fn the_last_function_at_an_address_counts() {
        let map = b"1000 100 old\n1080 10 new\n";
        let all = found(map, &[0x1000, 0x1080, 0x1090]);
        assert_eq!(all.iter().map(|(_, name)| &**name).collect::<Vec<_>>(), ["old", "new", "old"]);
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let long = [b"1000 10 ".to_vec(), vec![b'x'; 3 * MAX_LINE as usize], b"\n".to_vec()];
        for bad in [
            b"\n".to_vec(),
            b"1000\n".to_vec(),
            b"1000 10\n".to_vec(),
            b"1000 10 \n".to_vec(),
            b"1000 0 empty\n".to_vec(),
            b"ffffffffffffffff 10 beyond\n".to_vec(),
            b"-1000 10 signed\n".to_vec(),
            b"1000 10 \xff\n".to_vec(),
            b"\0\0\0".to_vec(),
        ] {
            assert_eq!(found(&bad, &[0x1000, u64::MAX]), [], "{bad:?}");
            let map = [bad, b"\n1000 10 good\n".to_vec()].concat();
            assert_eq!(found(&map, &[0x1000]), [(0x1000, "good".to_owned())]);
        }
        assert_eq!(found(&long.concat(), &[0x1000])[0].1.len(), MAX_LINE as usize - 8);
    }

    #[test]
    fn a_map_of_another_user_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "1000 10 name\n").unwrap();
        let owner = file.as_file().metadata().unwrap().uid();
        let names = |user| perf_map_names(file.path(), user, [0x1000]);
        assert_eq!(names(owner).unwrap()[&0x1000], "name");
        if owner != 0 {
            assert_eq!(names(owner + 1), Err(PerfMapError::Foreign));
        }
        let missing = perf_map_names(std::path::Path::new("/no/such.map"), owner, [0x1000]);
        assert_eq!(missing, Err(PerfMapError::Missing));
        file.as_file().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(names(owner), Err(PerfMapError::TooLarge));
    }
}
