//! A control group whose memory runs out: the kernel kills a process in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// The limit of the group, in bytes.
const LIMIT: &str = "16777216";

/// A score with which the kernel chooses a process before any other one of its group.
const FIRST: &str = "1000";

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

    /// Uses up the memory of the group while `victim` is in it, so that the kernel kills `victim`.
    ///
    /// What a process had allocated before it joins a group is not counted there, so a second
    /// process does the allocating. The kernel kills that one afterwards.
    pub(crate) fn exhaust(&self, victim: Pid) -> io::Result<Child> {
        let victim = victim.as_raw_nonzero().to_string();
        fs::write(self.path.join(self.limit), LIMIT)?;
        fs::write(Path::new("/proc").join(&victim).join("oom_score_adj"), FIRST)?;
        fs::write(self.path.join("cgroup.procs"), victim)?;
        // A line without an end is kept in memory as it grows.
        let allocate = r#"echo $$ > "$1/cgroup.procs" && exec tail -n 1 /dev/zero"#;
        let mut shell = Command::new("sh");
        shell.args(["-c", allocate, "sh"]).arg(&self.path);
        shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
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
