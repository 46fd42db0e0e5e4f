//! What the kernel counts of a process.

use std::collections::BTreeMap;
use std::fs;

/// Counts of a process and of all its threads that live.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) cpu_nanos: u64,
    /// Voluntary context switches: sleeps, each of which a wake-up ends.
    pub(crate) switches: u64,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Self {
        let mut usage = Self::default();
        for task in tasks(pid) {
            usage.cpu_nanos += cpu_nanos(&task);
            usage.switches += voluntary_switches(&task);
        }
        usage
    }

    /// Returns the difference to an earlier one.
    pub(crate) fn since(self, earlier: Self) -> Self {
        let cpu_nanos = self.cpu_nanos - earlier.cpu_nanos;
        Self { cpu_nanos, switches: self.switches - earlier.switches }
    }
}

/// Returns the CPU time of each thread in nanoseconds, by name.
pub(crate) fn cpu_of_threads(pid: u32) -> BTreeMap<String, u64> {
    let mut threads = BTreeMap::new();
    for task in tasks(pid) {
        let name = fs::read_to_string(format!("{task}/comm")).unwrap_or_default();
        *threads.entry(name.trim_end().to_owned()).or_default() += cpu_nanos(&task);
    }
    threads
}

/// Returns values of `smaps_rollup` in KiB.
pub(crate) fn memory(pid: u32) -> [u64; 2] {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it runs");
    let value = |name: &str| number_of(&text, name);
    [value("Rss:"), value("Private_Clean:") + value("Private_Dirty:")]
}

fn tasks(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
    tasks.filter_map(|task| task.ok()?.path().into_os_string().into_string().ok()).collect()
}

fn cpu_nanos(task: &str) -> u64 {
    let text = fs::read_to_string(format!("{task}/schedstat")).unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

fn voluntary_switches(task: &str) -> u64 {
    number_of(&fs::read_to_string(format!("{task}/status")).unwrap_or_default(), "voluntary_ctxt")
}

/// Returns the first number in the line that begins so.
fn number_of(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let number = line.split_whitespace().find_map(|word| word.parse().ok());
    number.unwrap_or(0)
}
