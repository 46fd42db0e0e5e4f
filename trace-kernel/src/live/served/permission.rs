//! What a user may record by the privileged helper: the scheduling of the user's own threads.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::ServeError;
use crate::live::categories::{CATEGORIES, TASKS};
use crate::live::stat::Stat;

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
/// that end from an instance's list, so a check after they were listed is of the listed ones. It
/// does not remove those that had begun to end before, which are refused.
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
///
/// # Errors
///
/// `NotFound` or `ESRCH` if the thread has ended, or has begun to.
fn users(thread: u64) -> io::Result<([u32; 4], u32)> {
    // First: what is read behind it is of this thread, or the kernel has removed the id.
    if Stat::read(thread)?.is_ending {
        return Err(io::ErrorKind::NotFound.into());
    }
    let status = fs::read(format!("/proc/{thread}/status"))?;
    let users = parse_users(&String::from_utf8_lossy(&status));
    // The directory of a thread always has its effective user.
    let memory = fs::metadata(format!("/proc/{thread}/mem"))?;
    Ok((users.ok_or(io::ErrorKind::InvalidData)?, memory.uid()))
}

fn parse_users(status: &str) -> Option<[u32; 4]> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let users: Vec<u32> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    users.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use rustix::process::{waitid, Pid, WaitId, WaitidOptions};

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

    /// The kernel does not remove its id from a list.
    #[test]
    fn threads_that_nobody_has_waited_for_are_refused() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let (id, uid) = (u64::from(child.id()), rustix::process::geteuid().as_raw());
        check_threads(&[id], uid).unwrap();
        drop(child.stdin.take());
        let pid = WaitId::Pid(Pid::from_child(&child));
        waitid(pid, WaitidOptions::EXITED | WaitidOptions::NOWAIT).unwrap();
        let refused = check_threads(&[id], uid);
        child.wait().unwrap();
        assert!(matches!(refused, Err(ServeError::Thread(thread, _)) if thread == id));
    }

    /// The memory of a program that its user may not read belongs to root, as that of a program
    /// which had other privileges.
    #[test]
    fn threads_whose_memory_is_roots_are_refused() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: root is required");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let program = folder.path().join("cat");
        // A copy by this process might be open for writing in a process that another test starts.
        assert!(Command::new("cp").arg("/bin/cat").arg(&program).status().unwrap().success());
        for (mode, is_permitted) in [(0o755, true), (0o711, false)] {
            fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
            let mut command = Command::new(&program);
            let command = command.uid(65534).gid(65534).current_dir("/");
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            // Its memory is root's until it has begun to run the program.
            child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let checked = check_threads(&[child.id().into()], 65534);
            drop(child.stdin.take());
            child.wait().unwrap();
            assert_eq!(checked.is_ok(), is_permitted, "{checked:?}");
            assert!(is_permitted || matches!(checked, Err(ServeError::OtherUser(_))));
        }
    }
}
