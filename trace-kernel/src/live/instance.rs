//! A ring buffer in the kernel: an instance of tracefs.
//!
//! The name has the id of the process, the time of its start and its pid namespace, so that an
//! instance of a killed process can be removed later, and nobody else's. Those of the privileged
//! helper also have the user for whom it was created.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{access, Access};
use rustix::io::Errno;

use super::error::LiveError;
use super::stat::Stat;

/// The places of tracefs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The size of a read of a file of tracefs in bytes.
const READ_BYTES: usize = 64 << 10;

/// The start of the names of instances.
const PREFIX: &str = "trace-";

/// An instance, which is removed when this is dropped. Its files have to be closed before.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
}

/// The most instances that the privileged helper has for a user.
const MAX_OF_USER: usize = 4;

/// The owner of an instance, as in the instance's name.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    /// The start of the process, in clock ticks since boot.
    start: u64,
    namespace: u64,
    /// The user for whom the privileged helper has created it.
    user: Option<u32>,
}

impl Instance {
    /// Creates an instance with tracing off, by the privileged helper for a user. Removes those of
    /// processes that have been killed.
    pub(super) fn create(user: Option<u32>) -> Result<Self, LiveError> {
        let instances = root()?.join("instances");
        let failed = |error| LiveError::file(&instances, error);
        let owner = Owner::of(std::process::id()).map_err(failed)?;
        // If the own start cannot be read, /proc does not show which processes have ended.
        remove_stale(&instances);
        let of_user = user.map(|user| format!("-u{user}")).unwrap_or_default();
        let number = (0..).map(|number| instances.join(format!("{owner}-{number}{of_user}")));
        for path in number {
            match fs::create_dir(&path) {
                Ok(()) => {
                    let instance = Self { path };
                    instance.write("tracing_on", "0")?;
                    // If several are created at a time, more of them may be refused.
                    if user.is_some_and(|user| number_of(&instances, user) > MAX_OF_USER) {
                        return Err(LiveError::TooMany { limit: MAX_OF_USER });
                    }
                    return Ok(instance);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::ErrorKind::AlreadyExists.into()))
    }

    /// Uses a directory as an instance.
    #[cfg(test)]
    pub(super) fn of_directory(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Returns its name, which has the id of this process.
    pub(super) fn name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// Returns the text of a file.
    pub(super) fn read(&self, file: &str) -> Result<String, LiveError> {
        read(&self.path(file))
    }

    /// Returns the CPUs that have a buffer, also if they are offline.
    pub(super) fn cpus(&self) -> Result<Vec<u16>, LiveError> {
        let path = self.path("per_cpu");
        let entries = fs::read_dir(&path).map_err(|error| LiveError::file(path, error))?;
        let number =
            |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok();
        Ok(entries.flatten().filter_map(number).collect())
    }

    /// Enables an event, as `SYSTEM/NAME`. Returns its format.
    pub(super) fn enable(&self, event: &str) -> Result<String, LiveError> {
        let format = self.read(&format!("events/{event}/format"))?;
        self.write(&format!("events/{event}/enable"), "1")?;
        Ok(format)
    }

    /// Starts or stops recording.
    pub(super) fn switch(&self, is_on: bool) -> Result<(), LiveError> {
        self.write("tracing_on", if is_on { "1" } else { "0" })
    }

    /// Stops recording for good. The buffer takes no memory unless it is mapped.
    pub(super) fn retire(&self) -> Result<(), LiveError> {
        self.switch(false)?;
        self.write("buffer_size_kb", "1")
    }

    /// Removes it. Its events may be enabled.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_dir(&self.path)
    }

    /// Replaces the contents of a file.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), LiveError> {
        let path = self.path(file);
        fs::write(&path, text).map_err(|error| LiveError::file(path, error))
    }

    /// Appends to the contents of a file.
    pub(super) fn append(&self, file: &str, text: &str) -> Result<(), LiveError> {
        let path = self.path(file);
        let mut options = fs::OpenOptions::new();
        let appended = options.append(true).open(&path);
        let appended = appended.and_then(|mut file| file.write_all(text.as_bytes()));
        appended.map_err(|error| LiveError::file(path, error))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _busy = self.remove();
    }
}

impl Owner {
    /// Returns the owner that a process is.
    fn of(pid: u32) -> io::Result<Self> {
        let start = start_time(pid)?;
        let namespace = fs::metadata("/proc/self/ns/pid")?.ino();
        Ok(Self { pid, start, namespace, user: None })
    }

    /// Parses the name of an instance.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let namespace = parts.next()?.parse().ok()?;
        let _number: u32 = parts.next()?.parse().ok()?;
        let user = match parts.next() {
            None => None,
            Some(user) => Some(user.strip_prefix('u')?.parse().ok()?),
        };
        parts.next().is_none().then_some(Self { pid, start, namespace, user })
    }

    /// Returns whether the process has ended. That of another namespace is unknown, and so are all
    /// if `/proc` hides other users' processes (`hidepid`), of which the first one is always there.
    fn has_ended(&self) -> bool {
        let own = fs::metadata("/proc/self/ns/pid").map(|namespace| namespace.ino());
        own.is_ok_and(|own| own == self.namespace)
            && start_time(1).is_ok()
            && self.start_differs(start_time(self.pid))
    }

    /// Returns whether the start of a process shows that this one has ended. Only a missing process
    /// has: reading may fail for other reasons, such as too many open files.
    fn start_differs(&self, start: io::Result<u64>) -> bool {
        match start {
            Ok(start) => start != self.start,
            Err(error) => {
                error.kind() == io::ErrorKind::NotFound
                    || Errno::from_io_error(&error) == Some(Errno::SRCH)
            }
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}-{}-{}", self.pid, self.start, self.namespace)
    }
}

/// Returns where tracefs is mounted, if this process can create a buffer there.
///
/// # Errors
///
/// The reason why it cannot.
pub fn check() -> Result<&'static Path, LiveError> {
    let root = root()?;
    let instances = root.join("instances");
    match access(&instances, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(root),
        Err(error) => Err(LiveError::file(instances, error.into())),
    }
}

/// Returns where tracefs is mounted.
pub(super) fn root() -> Result<&'static Path, LiveError> {
    for place in PLACES.map(Path::new) {
        match fs::metadata(place.join("instances")) {
            Ok(_) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(LiveError::Denied(place.to_owned()));
            }
            Err(_) => {}
        }
    }
    Err(LiveError::NoTracefs)
}

/// Returns the names of all events, as `SYSTEM:NAME` on each line.
pub(super) fn available_events() -> Result<String, LiveError> {
    read(&root()?.join("available_events"))
}

/// Returns the format of an event, as `SYSTEM/NAME`.
pub(super) fn read_format(event: &str) -> Result<String, LiveError> {
    read(&root()?.join(format!("events/{event}/format")))
}

/// Returns the text of a file. Some files of tracefs return everything to the first read and
/// nothing to the next, so the buffer is large.
fn read(path: &Path) -> Result<String, LiveError> {
    let failed = |error| LiveError::file(path, error);
    let mut file = fs::File::open(path).map_err(failed)?;
    let (mut text, mut buffer) = (Vec::new(), vec![0; READ_BYTES]);
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            length => text.extend_from_slice(buffer.get(..length).unwrap_or_default()),
        }
    }
}

/// Returns the number of instances of a user, also of those that cannot be removed because the user
/// keeps pages of them.
fn number_of(instances: &Path, user: u32) -> usize {
    let entries = fs::read_dir(instances).into_iter().flatten().flatten();
    let owners = entries.filter_map(|entry| Owner::parse(entry.file_name().to_str()?));
    owners.filter(|owner| owner.user == Some(user)).count()
}

/// Removes the instances of processes that have been killed. Those that are in use get no more
/// events, and take little memory.
fn remove_stale(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(is_stale) {
            let instance = Instance { path: entry.path() };
            if instance.remove().is_err() {
                let _failed = instance.retire();
            }
        }
    }
}

/// Returns whether an instance of this name is one of a process that has been killed.
pub(super) fn is_stale(name: &str) -> bool {
    Owner::parse(name).is_some_and(|owner| owner.has_ended())
}

/// Returns the start of a process in clock ticks since boot.
///
/// # Errors
///
/// `NotFound` or `ESRCH` if the process has ended, also if its parent has not waited for it yet.
fn start_time(pid: u32) -> io::Result<u64> {
    let stat = Stat::read(pid.into())?;
    if stat.has_ended {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(stat.start)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::process::{waitid, Pid, WaitId, WaitidOptions};

    use super::*;

    #[test]
    fn names_of_instances() {
        let own = Owner::of(std::process::id()).unwrap();
        assert!(own.start > 0);
        assert_eq!(Owner::parse(&format!("{own}-0")).as_ref(), Some(&own));
        let of_user = Owner { user: Some(1000), ..Owner::of(std::process::id()).unwrap() };
        assert_eq!(Owner::parse(&format!("{own}-0-u1000")), Some(of_user));
        for other in [
            "trace-1-2-3-4-u",
            "trace-1-2-3-4-u1-5",
            "trace-1-2",
            "trace-1-2-3",
            "trace-1-2-3-x",
            "trace-1-2-3-4-5",
            "x-1-2-3-4",
        ] {
            assert_eq!(Owner::parse(other), None, "{other}");
        }
    }

    #[test]
    fn owners_that_have_ended() {
        let own = || Owner::of(std::process::id()).unwrap();
        assert!(!own().has_ended());
        assert!(Owner { start: own().start + 1, ..own() }.has_ended(), "the pid was used again");
        assert!(Owner { pid: u32::MAX, ..own() }.has_ended());
        let failed = || Err(Errno::MFILE.into());
        assert!(!own().start_differs(failed()), "it is unknown");
        let foreign = Owner { pid: u32::MAX, namespace: own().namespace + 1, ..own() };
        assert!(!foreign.has_ended(), "it is unknown");
    }

    #[test]
    fn processes_that_nobody_has_waited_for_have_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let owner = Owner::of(child.id()).unwrap();
        assert!(!owner.has_ended());
        drop(child.stdin.take());
        let pid = WaitId::Pid(Pid::from_child(&child));
        waitid(pid, WaitidOptions::EXITED | WaitidOptions::NOWAIT).unwrap();
        assert!(owner.has_ended());
        child.wait().unwrap();
        assert!(owner.has_ended());
    }

    /// A directory with files cannot be removed, like an instance with open ones.
    #[test]
    fn instances_in_use_count_and_are_off() {
        let folder = tempfile::tempdir().unwrap();
        let stale = Owner { pid: u32::MAX, ..Owner::of(std::process::id()).unwrap() };
        for name in [format!("{stale}-0-u1000"), format!("{stale}-1-u1000")] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let used = Instance::of_directory(&folder.path().join(format!("{stale}-1-u1000")));
        used.write("tracing_on", "1").unwrap();
        used.write("buffer_size_kb", "16384").unwrap();
        assert_eq!(number_of(folder.path(), 1000), 2);
        remove_stale(folder.path());
        assert_eq!((number_of(folder.path(), 1000), number_of(folder.path(), 1001)), (1, 0));
        assert_eq!(used.read("tracing_on").unwrap(), "0");
        assert_eq!(used.read("buffer_size_kb").unwrap(), "1");
    }
}
