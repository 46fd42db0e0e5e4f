//! What a user may record by the privileged helper: the scheduling of the user's own threads.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::ServeError;
use crate::live::categories::{CATEGORIES, TASKS};

/// The category whose events a user may record, beside those of `kernel:tasks`.
const SCHED: &str = "kernel:sched";

/// The largest buffer of a CPU in bytes.
pub(super) const MAX_BUFFER: u64 = 16 << 20;

/// Returns the names of the permitted events of those that `available` lists, as `SYSTEM:NAME` on
/// each line.
pub(super) fn permitted_events(available: &str) -> String {
    let sched = CATEGORIES.iter().filter(|category| category.name == SCHED);
    let permitted = sched.flat_map(|category| category.events).chain(TASKS);
    let permitted: Vec<String> =
        permitted.map(|(system, name)| format!("{system}:{name}")).collect();
    let lines = available.lines().filter(|line| permitted.iter().any(|it| it == line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Checks that threads belong to a user.
///
/// A thread that has ended may be followed by another one with its id. The kernel removes threads
/// that end from an instance's list, so a check after they were listed is of the listed ones.
pub(super) fn check_threads(threads: &[u64], uid: u32) -> Result<(), ServeError> {
    if threads.is_empty() {
        return Err(ServeError::NoThreads);
    }
    for thread in threads {
        match users(*thread) {
            Ok((users, owner)) if users == [uid; 4] && owner == uid => {}
            Ok(_) => return Err(ServeError::OtherUser(*thread)),
            Err(error) => return Err(ServeError::Thread(*thread, error)),
        }
    }
    Ok(())
}

/// Returns the real, effective, saved and file system user of a thread, and the user who may read
/// its memory: root if it had other privileges before.
fn users(thread: u64) -> io::Result<([u32; 4], u32)> {
    let directory = format!("/proc/{thread}");
    let status = fs::read(format!("{directory}/status"))?;
    let users = parse_users(&String::from_utf8_lossy(&status));
    Ok((users.ok_or(io::ErrorKind::InvalidData)?, fs::metadata(directory)?.uid()))
}

fn parse_users(status: &str) -> Option<[u32; 4]> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let users: Vec<u32> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    users.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_record_only_scheduling_and_tasks() {
        let available = "sched:sched_switch\nsched:sched_stat_runtime\nraw_syscalls:sys_enter\n\
            task:task_rename\nirq:irq_handler_entry\n";
        assert_eq!(permitted_events(available), "sched:sched_switch\ntask:task_rename\n");
    }

    #[test]
    fn all_users_of_a_thread_are_the_caller() {
        let own = u64::from(std::process::id());
        let uid = rustix::process::geteuid().as_raw();
        check_threads(&[own], uid).unwrap();
        let other = check_threads(&[own], uid + 1);
        assert!(matches!(other, Err(ServeError::OtherUser(thread)) if thread == own));
        assert!(matches!(check_threads(&[], uid), Err(ServeError::NoThreads)));
        let missing = check_threads(&[own, u64::MAX], uid);
        assert!(matches!(missing, Err(ServeError::Thread(u64::MAX, _))));
        assert_eq!(parse_users("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some([1000, 0, 0, 0]));
        assert_eq!(parse_users("Uid:\t1000\n"), None);
    }
}
