//! The processes of the threads that exist when tracing starts.

use std::fs;
use std::path::Path;

/// Returns the threads of the machine, each with its process. Threads that end meanwhile may be
/// missing.
pub(super) fn threads() -> Vec<(u64, u64)> {
    let processes = numbers(Path::new("/proc"));
    let threads = |process| {
        let tasks = numbers(Path::new(&format!("/proc/{process}/task")));
        tasks.into_iter().map(move |thread| (thread, process))
    };
    processes.into_iter().flat_map(threads).collect()
}

/// Returns the threads of a process, none if there is no such process.
#[must_use]
pub fn threads_of(process: u64) -> Vec<u64> {
    numbers(Path::new(&format!("/proc/{process}/task")))
}

/// Returns the entries of a directory that are numbers.
fn numbers(directory: &Path) -> Vec<u64> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_its_threads() {
        let own = u64::from(std::process::id());
        assert!(threads().contains(&(own, own)));
        assert!(threads_of(own).contains(&own));
        assert!(threads_of(u64::MAX).is_empty());
    }
}
