//! The memory that is available for buffers.
//!
//! The kernel overcommits memory, and kills a process when it cannot provide it. So the size of a
//! buffer, whose pages are all used, is compared with the available memory first.

use std::fs;
use std::path::Path;

use rustix::process::{getrlimit, Resource};

/// Returns the bytes of memory that are available to the machine, this process's control groups and
/// its address space; `u64::MAX` if the system does not report them.
pub(crate) fn available_memory() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(|text| parse_size(text, "MemAvailable:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_memory(Path::new("/sys/fs/cgroup"), &groups);
    machine.unwrap_or(u64::MAX).min(groups).min(address_space())
}

/// Returns the address space that is left below the process's limit.
fn address_space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    unused_address_space(getrlimit(Resource::As).current, &status)
}

fn unused_address_space(limit: Option<u64>, status: &str) -> u64 {
    let used = parse_size(status, "VmSize:").unwrap_or(0);
    limit.map_or(u64::MAX, |limit| limit.saturating_sub(used))
}

/// Returns the memory that is left below the limits of the control groups in `/proc/self/cgroup`
/// (cgroups(7)) and their ancestors.
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

/// The names of a control group's files.
struct CgroupFiles {
    limit: &'static str,
    usage: &'static str,
    /// Page caches in `memory.stat`, which the kernel drops when memory is short.
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

/// Returns a size in bytes from the text of `/proc/meminfo` (proc_meminfo(5)) or
/// `/proc/self/status`.
fn parse_size(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed() {
        let text = "MemTotal:  10 kB\nMemFree:  3 kB\nMemAvailable:     7 kB\n";
        assert_eq!(parse_size(text, "MemAvailable:"), Some(7 * 1024));
        assert_eq!(parse_size("MemAvailable: many kB", "MemAvailable:"), None);
        assert_eq!(parse_size("", "MemAvailable:"), None);
    }

    #[test]
    fn a_missing_group_has_no_limit() {
        assert_eq!(group_memory(Path::new("/nonexistent"), "0::/a/b\n4:memory:/a\n"), u64::MAX);
        assert_eq!(group_memory(Path::new("/nonexistent"), ""), u64::MAX);
    }

    /// The limits of ancestors apply, and page caches count as available.
    #[test]
    fn the_least_available_memory_of_all_groups_is_returned() {
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

    #[test]
    fn the_limit_of_the_address_space_applies() {
        let status = "VmPeak:  9 kB\nVmSize:  4 kB\n";
        assert_eq!(unused_address_space(None, status), u64::MAX);
        assert_eq!(unused_address_space(Some(10 << 10), status), 6 << 10);
        assert_eq!(unused_address_space(Some(3 << 10), status), 0);
        assert_eq!(unused_address_space(Some(5), ""), 5);
    }

    #[test]
    fn this_machine_reports_its_memory() {
        assert!((1 << 20..u64::MAX).contains(&available_memory()));
    }
}
