//! A control group whose memory runs out: the kernel kills a process in it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Pid;

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
    /// Makes a group with a limit in bytes below that of this process; none, with a message, where
    /// this process cannot.
    pub(crate) fn with(bytes: u64) -> Option<Self> {
        let group = Self::new().and_then(|group| {
            fs::write(group.path.join(group.limit), bytes.to_string())?;
            Ok(group)
        });
        group.inspect_err(|error| eprintln!("skipped: no control group for memory: {error}")).ok()
    }

    fn new() -> io::Result<Self> {
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
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let name = format!("trace-test-{}-{number}", std::process::id());
        let path = root.join(own).join(name);
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
        fs::write(Path::new("/proc").join(&victim).join("oom_score_adj"), FIRST)?;
        fs::write(self.path.join("cgroup.procs"), victim)?;
        // A line without an end is kept in memory as it grows.
        let mut allocate = self.command("tail");
        allocate.args(["-n", "1", "/dev/zero"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Returns a command that runs a program in the group.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"echo $$ > "$0/cgroup.procs" && exec "$@""#]).arg(&self.path);
        shell.arg(program);
        shell
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
