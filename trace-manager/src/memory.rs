//! How much memory a buffer may take.
//!
//! The kernel promises more memory than it has and kills a process when the promise is called in.
//! So a buffer, which is there from the start, is held against what is available first.

use std::fs;
use std::path::Path;

/// Returns the bytes of memory that are available, to the machine and to this control group;
/// `u64::MAX` where the system does not say.
pub(crate) fn available_memory() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(parse_available);
    machine.unwrap_or(u64::MAX).min(group_memory(Path::new("/sys/fs/cgroup")))
}

/// What a control group (version 2) has left below its limit.
fn group_memory(group: &Path) -> u64 {
    let read = |name| fs::read_to_string(group.join(name)).ok();
    let number = |name| read(name).and_then(|text| text.trim().parse::<u64>().ok());
    match (number("memory.max"), number("memory.current")) {
        (Some(max), Some(current)) => max.saturating_sub(current),
        _ => u64::MAX,
    }
}

/// Finds `MemAvailable` in the text of `/proc/meminfo` (proc_meminfo(5)).
fn parse_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_found() {
        let text = "MemTotal:  10 kB\nMemFree:  3 kB\nMemAvailable:     7 kB\n";
        assert_eq!(parse_available(text), Some(7 * 1024));
        assert_eq!(parse_available("MemAvailable: many kB"), None);
        assert_eq!(parse_available(""), None);
    }

    #[test]
    fn a_group_without_limit_limits_nothing() {
        assert_eq!(group_memory(Path::new("/nonexistent")), u64::MAX);
    }
}
