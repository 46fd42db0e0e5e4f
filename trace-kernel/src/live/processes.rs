//! The processes of the threads that exist when tracing starts.

use std::fs;
use std::path::Path;

/// Returns the threads of the machine, each with its process. Threads that end meanwhile may be
/// missing.
pub(super) fn threads() -> Vec<(u64, u64)> {
    let processes = all();
    let threads = |process| {
        let tasks = numbers(Path::new(&format!("/proc/{process}/task")));
        tasks.into_iter().map(move |thread| (thread, process))
    };
    processes.into_iter().flat_map(threads).collect()
}

/// Returns the threads of the machine with their names.
pub(super) fn names() -> Vec<(u64, Box<str>)> {
    let named = |(thread, _)| Some((thread, name(thread)?));
    threads().into_iter().filter_map(named).collect()
}

/// Returns the name of a thread, unless it has ended.
pub(super) fn name(thread: u64) -> Option<Box<str>> {
    let name = fs::read(format!("/proc/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').into())
}

/// Returns whether a thread or a process exists.
pub(super) fn lives(id: u64) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

/// Returns the ids of all processes.
pub(super) fn all() -> Vec<u64> {
    numbers(Path::new("/proc"))
}

/// Returns the process of a thread, and the parent of that process.
pub(super) fn family(thread: u64) -> Option<(u64, u64)> {
    let status = fs::read(format!("/proc/{thread}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((field("Tgid:")?, field("PPid:")?))
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
        assert!(lives(own) && !lives(u64::MAX));
        assert!(threads_of(u64::MAX).is_empty());
        assert_eq!(family(own).map(|(process, _)| process), Some(own));
        assert_eq!(family(u64::MAX), None);
        assert!(names().iter().any(|(thread, name)| *thread == own && !name.is_empty()));
    }
}
