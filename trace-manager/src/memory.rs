//! How much memory buffers may take.
//!
//! The kernel promises more memory than it has and kills a process when the promise is called in.
//! So a buffer, which is there from the start, is held against what is available first.

use std::fs;
use std::path::Path;

use rustix::process::{getrlimit, Resource};

/// Returns the bytes of memory that are available, to the machine, to this process's control group
/// and to the process; `u64::MAX` where the system does not say.
pub(crate) fn available_memory() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(|text| parse_size(text, "MemAvailable:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_memory(Path::new("/sys/fs/cgroup"), &groups);
    machine.unwrap_or(u64::MAX).min(groups).min(address_space())
}

/// What the process's limit of its address space leaves.
fn address_space() -> u64 {
    let Some(limit) = getrlimit(Resource::As).current else { return u64::MAX };
    let status = fs::read_to_string("/proc/self/status").ok();
    let used = status.as_deref().and_then(|text| parse_size(text, "VmSize:"));
    limit.saturating_sub(used.unwrap_or(0))
}

/// What the control groups of `/proc/self/cgroup` (cgroups(7)), and those above them, have left
/// below their limits.
fn group_memory(root: &Path, groups: &str) -> u64 {
    let available = groups.lines().filter_map(|line| {
        let [_, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>()[..] else {
            return None;
        };
        let (root, files) = match controllers {
            "" => (root.to_owned(), &CGROUP_V2),
            _ if controllers.split(',').any(|it| it == "memory") => {
                (root.join("memory"), &CGROUP_V1)
            }
            _ => return None,
        };
        let path = Path::new(path.trim_start_matches('/'));
        path.ancestors().map(|group| files.available(&root.join(group))).min()
    });
    available.min().unwrap_or(u64::MAX)
}

/// The names of a group's files.
struct CgroupFiles {
    limit: &'static str,
    usage: &'static str,
    /// In `memory.stat`: caches of files, which the kernel drops when memory is short.
    caches: [&'static str; 2],
}

const CGROUP_V1: CgroupFiles = CgroupFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    caches: ["total_inactive_file", "total_active_file"],
};

const CGROUP_V2: CgroupFiles = CgroupFiles {
    limit: "memory.max",
    usage: "memory.current",
    caches: ["inactive_file", "active_file"],
};

impl CgroupFiles {
    fn available(&self, group: &Path) -> u64 {
        let read = |name| fs::read_to_string(group.join(name)).ok();
        let number = |name| read(name).and_then(|text| text.trim().parse::<u64>().ok());
        let (Some(limit), Some(usage)) = (number(self.limit), number(self.usage)) else {
            return u64::MAX;
        };
        let stat = read("memory.stat").unwrap_or_default();
        let cache = |line: &str| {
            let (name, number) = line.split_once(' ')?;
            self.caches.contains(&name).then(|| number.parse::<u64>().ok())?
        };
        let caches: u64 = stat.lines().filter_map(cache).sum();
        limit.saturating_sub(usage.saturating_sub(caches))
    }
}

/// Finds a size in the text of `/proc/meminfo` (proc_meminfo(5)) or `/proc/self/status`.
fn parse_size(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_found() {
        let text = "MemTotal:  10 kB\nMemFree:  3 kB\nMemAvailable:     7 kB\n";
        assert_eq!(parse_size(text, "MemAvailable:"), Some(7 * 1024));
        assert_eq!(parse_size("MemAvailable: many kB", "MemAvailable:"), None);
        assert_eq!(parse_size("", "MemAvailable:"), None);
    }

    #[test]
    fn a_group_without_limit_limits_nothing() {
        assert_eq!(group_memory(Path::new("/nonexistent"), "0::/a/b\n4:memory:/a\n"), u64::MAX);
        assert_eq!(group_memory(Path::new("/nonexistent"), ""), u64::MAX);
    }

    /// A group is within those above it; files in the cache are not in the way.
    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/memory.max", "1000\n");
        write("a/memory.current", "300\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "200\n");
        assert_eq!(group_memory(root.path(), "0::/a/b\n"), 700);
        write("a/memory.stat", "anon 200\ninactive_file 50\nactive_file 25\n");
        assert_eq!(group_memory(root.path(), "0::/a/b\n"), 775);
        write("memory/c/memory.limit_in_bytes", "500\n");
        write("memory/c/memory.usage_in_bytes", "400\n");
        assert_eq!(group_memory(root.path(), "4:cpu,memory:/c\n0::/a/b\n"), 100);
    }
}
