//! The state of a thread, from `/proc/TID/stat`.

use std::fs;
use std::io;

/// `PF_EXITING` of the kernel: the thread has begun to end.
const EXITING: u64 = 0x4;

/// What `/proc` tells of a thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Nothing of it is left but its id, for which its parent has not waited yet.
    pub(super) has_ended: bool,
    /// It runs no code of its program any more.
    pub(super) is_ending: bool,
    /// Its start in clock ticks since boot.
    pub(super) start: u64,
}

impl Stat {
    /// Reads the state of a thread, or of a process.
    pub(super) fn read(thread: u64) -> io::Result<Self> {
        // The name may have other bytes than UTF-8.
        let stat = fs::read(format!("/proc/{thread}/stat"))?;
        Self::parse(&String::from_utf8_lossy(&stat)).ok_or(io::ErrorKind::InvalidData.into())
    }

    /// Parses the fields behind the name, which may have spaces and brackets. The state is field 3,
    /// the flags are field 9 and the start is field 22.
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let flags: u64 = fields.nth(5)?.parse().ok()?;
        let start = fields.nth(12)?.parse().ok()?;
        Some(Self { has_ended, is_ending: has_ended || flags & EXITING != 0, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the line of a thread.
    fn line(name: &str, state: char, flags: u64) -> String {
        format!(
            "7 ({name}) {state} 1 2 3 4 5 {flags} 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n"
        )
    }

    #[test]
    fn states_of_threads() {
        let of = |has_ended, is_ending| Some(Stat { has_ended, is_ending, start: 4711 });
        assert_eq!(Stat::parse(&line("sh", 'S', 0x40_0000)), of(false, false));
        assert_eq!(Stat::parse(&line(") Z 1 2 3 4 5 4 (", 'R', 0x40_0000)), of(false, false));
        assert_eq!(Stat::parse(&line("sh", 'R', 0x40_0004)), of(false, true));
        assert_eq!(Stat::parse(&line("sh", 'Z', 0x40_0000)), of(true, true));
        assert_eq!(Stat::parse(&line("sh", 'X', 0x40_000c)), of(true, true));
        assert_eq!(Stat::parse("7 (sh) S 1 2 3"), None);
        let own = Stat::read(std::process::id().into()).unwrap();
        assert!(!own.is_ending && own.start > 0);
    }
}
