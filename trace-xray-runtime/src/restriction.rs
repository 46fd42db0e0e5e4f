//! Restrictions of system calls: seccomp(2), and prctl(2) for the processor's counter.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

const STRICT: u64 = libc::SECCOMP_MODE_STRICT as u64;
const FILTER: u64 = libc::SECCOMP_MODE_FILTER as u64;

/// What the kernel gives only a process with one thread: a user namespace, and memory or signal
/// handlers that it does not share.
const ALONE: u64 =
    (libc::CLONE_NEWUSER | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_VM) as u64;
const CLONE_NEWTIME: u64 = 0x80;

/// A restriction that the program is about to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restriction {
    /// The calling thread may neither make system calls nor read the processor's counter. Its
    /// process starts no other thread from it.
    Strict,
    /// The calling thread, and those that it starts, have a filter of system calls.
    Filter,
    /// All threads have a filter, or the process may have one thread only.
    Process,
    /// The calling thread, and those that it starts, may not read the processor's counter.
    Counter,
}

impl Restriction {
    /// Returns what a call of prctl(2) with these arguments chooses.
    pub(crate) fn of_prctl(option: u64, value: u64, argument: u64) -> Option<Self> {
        match (option as i32, value) {
            (libc::PR_SET_SECCOMP, STRICT) => Some(Self::Strict),
            // Without a filter, the call asks whether the kernel knows it.
            (libc::PR_SET_SECCOMP, FILTER) if argument != 0 => Some(Self::Filter),
            (libc::PR_SET_TSC, value) if value == libc::PR_TSC_SIGSEGV as u64 => {
                Some(Self::Counter)
            }
            _ => None,
        }
    }

    /// Returns what a call of unshare(2) with these flags chooses.
    pub(crate) fn of_unshare(flags: u64) -> Option<Self> {
        (flags & ALONE != 0).then_some(Self::Process)
    }

    /// Returns what a call of setns(2) with these namespaces chooses; 0 is any.
    pub(crate) fn of_setns(namespaces: u64) -> Option<Self> {
        let alone = ALONE | CLONE_NEWTIME | libc::CLONE_NEWNS as u64;
        (namespaces == 0 || namespaces & alone != 0).then_some(Self::Process)
    }

    /// Returns what a call of seccomp(2) with these arguments chooses.
    pub(crate) fn of_seccomp(operation: u64, flags: u64, argument: u64) -> Option<Self> {
        const SET_STRICT: u64 = libc::SECCOMP_SET_MODE_STRICT as u64;
        const SET_FILTER: u64 = libc::SECCOMP_SET_MODE_FILTER as u64;
        let has_all_threads = flags & libc::SECCOMP_FILTER_FLAG_TSYNC != 0;
        match operation {
            SET_STRICT if flags == 0 && argument == 0 => Some(Self::Strict),
            SET_FILTER if argument == 0 => None,
            SET_FILTER if has_all_threads => Some(Self::Process),
            SET_FILTER => Some(Self::Filter),
            _ => None,
        }
    }
}

/// Whether a thread of the program has a filter.
static IS_FILTERED: AtomicBool = AtomicBool::new(false);

/// Stores that a thread of the program has a filter.
pub(crate) fn set_filtered() {
    IS_FILTERED.store(true, Ordering::SeqCst);
}

/// Returns whether a thread of the program has a filter, which may end the process for any system
/// call.
pub(crate) fn is_filtered() -> bool {
    IS_FILTERED.load(Ordering::SeqCst)
}

/// Returns whether the process has more filters than the one that records it has, which it would
/// have got before this program was executed. `true` if that is unknown.
///
/// Makes only system calls that the loader makes, which are permitted if the program runs: openat,
/// read, and close.
pub(crate) fn has_more_filters_than(recorder: u64) -> bool {
    let mut text = [0; 8192];
    let status = read_status(&mut text).unwrap_or(&[]);
    filters(&String::from_utf8_lossy(status)).is_none_or(|filters| filters > recorder)
}

/// Reads the status of this process as far as it fits. Does not ask for its length.
fn read_status(text: &mut [u8]) -> io::Result<&[u8]> {
    let mut file = File::open("/proc/self/status")?;
    let mut length = 0;
    while length < text.len() {
        match file.read(&mut text[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(&text[..length])
}

/// Returns the number of filters by `/proc/PID/status`. Kernels before 5.9 state only whether there
/// are some.
fn filters(status: &str) -> Option<u64> {
    let value = |name: &str| {
        let mut lines = status.lines().filter_map(|line| line.strip_prefix(name));
        lines.next()?.trim().parse::<u64>().ok()
    };
    value("Seccomp_filters:").or_else(|| Some(u64::from(value("Seccomp:")? != 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restrictions_are_recognized_and_questions_are_not() {
        let prctl =
            |option: i32, value, argument| Restriction::of_prctl(option as u64, value, argument);
        assert_eq!(prctl(libc::PR_SET_SECCOMP, STRICT, 0), Some(Restriction::Strict));
        assert_eq!(prctl(libc::PR_SET_SECCOMP, FILTER, 1), Some(Restriction::Filter));
        assert_eq!(prctl(libc::PR_SET_SECCOMP, FILTER, 0), None);
        assert_eq!(prctl(libc::PR_SET_TSC, 2, 0), Some(Restriction::Counter));
        assert_eq!(prctl(libc::PR_SET_TSC, 1, 0), None);
        assert_eq!(prctl(libc::PR_SET_NAME, 1, 1), None);
        let seccomp = Restriction::of_seccomp;
        assert_eq!(seccomp(0, 0, 0), Some(Restriction::Strict));
        assert_eq!(seccomp(0, 1, 0), None);
        assert_eq!(seccomp(1, 0, 8), Some(Restriction::Filter));
        assert_eq!(seccomp(1, 1, 8), Some(Restriction::Process));
        assert_eq!(seccomp(1, 1, 0), None);
        assert_eq!(seccomp(2, 0, 8), None);
    }

    #[test]
    fn namespaces_of_processes_with_one_thread_are_recognized() {
        assert_eq!(Restriction::of_unshare(libc::CLONE_NEWUSER as u64), Some(Restriction::Process));
        assert_eq!(Restriction::of_unshare((libc::CLONE_FILES | libc::CLONE_NEWNS) as u64), None);
        assert_eq!(Restriction::of_setns(0), Some(Restriction::Process));
        assert_eq!(Restriction::of_setns(libc::CLONE_NEWNS as u64), Some(Restriction::Process));
        assert_eq!(Restriction::of_setns(libc::CLONE_NEWNET as u64), None);
    }

    #[test]
    fn filters_are_counted() {
        assert_eq!(filters("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n"), Some(3));
        assert_eq!(filters("Seccomp:\t0\nSeccomp_filters:\t0\n"), Some(0));
        assert_eq!(filters("Seccomp:\t2\n"), Some(1));
        assert_eq!(filters("Seccomp:\t0\n"), Some(0));
        assert_eq!(filters("Name:\tx\n"), None);
    }
}
