//! A control group whose memory is short: the kernel kills the process in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// Bytes with which no process of ours goes on.
const LITTLE: &str = "1048576";

/// A control group of memory (cgroups(7)), of the second or the first version.
pub(crate) struct Group {
    path: PathBuf,
    limit: &'static str,
    /// The file that counts the processes that were killed for memory.
    events: &'static str,
}

impl Group {
    /// Makes a group below that of this process; an error if the system has none for us.
    pub(crate) fn new() -> io::Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let second = Self::below(&groups, "", "unified", "memory.max", "memory.events");
        second.or_else(|_| {
            let (limit, events) = ("memory.limit_in_bytes", "memory.oom_control");
            Self::below(&groups, "memory", "memory", limit, events)
        })
    }

    fn below(
        groups: &str,
        controller: &str,
        mount: &str,
        limit: &'static str,
        events: &'static str,
    ) -> io::Result<Self> {
        let own = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            (parts.next() == Some(controller)).then(|| parts.next())?
        });
        let own = own.ok_or(io::ErrorKind::NotFound)?.trim_start_matches('/');
        let root = Path::new("/sys/fs/cgroup");
        let root = match root.join(mount).is_dir() {
            true => root.join(mount),
            false => root.to_owned(),
        };
        let path = root.join(own).join(format!("trace-test-{}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self { path, limit, events };
        // Without the controller the group has no such file.
        fs::metadata(group.path.join(limit))?;
        Ok(group)
    }

    /// Moves a process into the group, which has hardly any memory then.
    pub(crate) fn starve(&self, process: Pid) -> io::Result<()> {
        fs::write(self.path.join(self.limit), LITTLE)?;
        fs::write(self.path.join("cgroup.procs"), process.as_raw_nonzero().to_string())
    }

    /// How many processes were killed because there was no memory.
    pub(crate) fn killed(&self) -> u64 {
        let text = fs::read_to_string(self.path.join(self.events)).unwrap_or_default();
        let number = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        number.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is empty once the process is dead.
        let _removed = fs::remove_dir(&self.path);
    }
}
