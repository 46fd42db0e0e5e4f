//! Checks of sockets, the daemon and the present directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{fallocate, statvfs, FallocateFlags};
use rustix::process::geteuid;
use trace_manager::controller::{control_socket_path, Controller, ControllerError};
use trace_protocol::file::Directory;
use trace_protocol::socket::default_socket_paths;

use super::Finding;
use crate::configuration;
use crate::message::HINT;
use crate::recorders::PATIENCE;

/// Less free space or memory is reported.
const LITTLE: u64 = 1 << 30;

pub(super) fn findings(socket: Option<&Path>) -> impl Iterator<Item = Finding> {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let here = Path::new(".");
    let free = statvfs(here).map(|status| status.f_bavail.saturating_mul(status.f_frsize));
    let free = free.map_err(io::Error::from);
    let local = [output(here), space(free), available(&memory)];
    [socket_folder(runtime.as_deref())].into_iter().chain(daemon(socket)).chain(local)
}

/// Checks the folder of the user's sockets. Root uses `/run`.
fn socket_folder(runtime: Option<&Path>) -> Finding {
    let subject = "socket folder";
    let without = "programs of this user do not find a daemon or trace record without a command";
    let remedy = "set XDG_RUNTIME_DIR to a folder of this user with mode 0700, or TRACE_SOCKET";
    let Some(runtime) = runtime.filter(|path| !path.as_os_str().is_empty()) else {
        return match geteuid().is_root() {
            true => Finding::ok(subject, "/run/trace"),
            false => Finding::limited(subject, "XDG_RUNTIME_DIR is not set", without, remedy),
        };
    };
    let path = runtime.display();
    match fs::metadata(runtime) {
        Err(error) => Finding::limited(subject, format!("{path}: {error}"), without, remedy),
        Ok(found) if found.uid() != geteuid().as_raw() => {
            let detail = format!("{path} belongs to another user (uid {})", found.uid());
            Finding::limited(subject, detail, without, remedy)
        }
        Ok(found) if found.mode() & 0o022 != 0 => {
            Finding::limited(subject, format!("others can write {path}"), without, remedy)
        }
        Ok(_) => Finding::ok(subject, format!("{path}")),
    }
}

/// Checks the daemon, and that its configuration is in use.
fn daemon(socket: Option<&Path>) -> Vec<Finding> {
    let sockets = socket.map_or_else(default_socket_paths, |path| vec![path.to_owned()]);
    let connect = |path: &PathBuf| {
        let path = control_socket_path(path);
        let mut daemon = Controller::connect(&path)?;
        daemon.set_timeout(Some(PATIENCE));
        let sessions = daemon.sessions()?;
        let problems = configuration::problems(&mut daemon, &sessions);
        let detail = format!("{} answers, {} sessions", path.display(), sessions.len());
        Ok((detail, problems))
    };
    let results: Vec<_> = sockets.iter().map(connect).collect();
    let mut first: Option<ControllerError> = None;
    for result in results {
        match result {
            Ok((detail, problems)) => {
                let problems = problems.into_iter().map(not_in_use);
                return [Finding::ok("daemon", detail)].into_iter().chain(problems).collect();
            }
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    vec![no_daemon(first)]
}

fn no_daemon(error: Option<ControllerError>) -> Finding {
    let text = error.as_ref().map(ControllerError::to_string).unwrap_or_default();
    let (detail, hint) = text.split_once(HINT).unwrap_or((&text, ""));
    let remedy = match error {
        Some(ControllerError::NoAnswer { .. }) => hint,
        _ => "trace daemon --background --dir DIR",
    };
    let without = "no trace start; trace stop, status, snapshot, categories and follow find a \
                   running trace record only";
    Finding::limited("daemon", detail, without, remedy)
}

fn not_in_use(problem: String) -> Finding {
    let without = "the daemon does not record as its configuration says";
    let (detail, hint) = problem.split_once(HINT).unwrap_or((&problem, "correct it"));
    let remedy = format!("{hint}, and kill -HUP the daemon, or start it again");
    Finding::limited("configuration", detail, without, remedy)
}

/// Checks whether the directory can have archives, and files with reserved space.
fn output(directory: &Path) -> Finding {
    let create = || Directory::open(directory)?.create_unnamed();
    let file = match create() {
        Ok(file) => file,
        Err(error) => {
            return Finding::missing(
                "output",
                format!("this directory cannot have new files: {error}"),
                "no archive can be written here",
                "use another directory, or -o FILE",
            )
        }
    };
    let reserved = fallocate(&file, FallocateFlags::empty(), 0, 1 << 20).map_err(io::Error::from);
    match reserved {
        Ok(()) => Finding::ok("output", "this directory can have archives"),
        Err(error) => Finding::limited(
            "output",
            format!("the file system cannot reserve space: {error}"),
            "a program with TRACE_OUTPUT loses the records since the last save if it is killed",
            "use a directory on another file system, such as ext4, xfs or tmpfs",
        ),
    }
}

fn space(free: io::Result<u64>) -> Finding {
    let subject = "free space";
    let detail = match &free {
        Ok(free) => format!("{} MiB in this directory", free >> 20),
        Err(error) => format!("of this directory cannot be determined: {error}"),
    };
    match free.is_ok_and(|free| free >= LITTLE) {
        true => Finding::ok(subject, detail),
        false => Finding::limited(
            subject,
            detail,
            "long recordings end early",
            "use --rotate and --keep, or another directory",
        ),
    }
}

/// Checks the available memory. `meminfo` is that of proc(5).
fn available(meminfo: &str) -> Finding {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let bytes = kib.unwrap_or(0).saturating_mul(1024);
    let detail = format!("{} MiB are available", bytes >> 20);
    match bytes < LITTLE {
        false => Finding::ok("buffers", detail),
        true => Finding::limited(
            "buffers",
            detail,
            "programs get no buffers: each may use a quarter of it",
            "use smaller buffers (-b)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::Status;
    use super::*;

    #[test]
    fn a_socket_folder_belongs_to_the_user_alone() {
        let directory = tempfile::tempdir().unwrap();
        let status = || socket_folder(Some(directory.path())).status;
        assert_eq!(status(), Status::Ok);
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(status(), Status::Limited);
        assert_eq!(socket_folder(Some(Path::new("/nonexistent"))).status, Status::Limited);
    }

    #[test]
    fn a_daemon_that_is_missing_has_a_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let mut findings = daemon(Some(&directory.path().join("manager.sock")));
        let finding = findings.remove(0);
        assert_eq!(finding.status, Status::Limited);
        let (without, remedy) = finding.remedy.unwrap();
        assert!(without.contains("snapshot, categories and follow find a running trace record"));
        assert!(remedy.starts_with("trace daemon"));
    }

    #[test]
    fn a_directory_must_be_writable() {
        let directory = tempfile::tempdir().unwrap();
        assert_ne!(output(directory.path()).status, Status::Missing);
        assert_eq!(output(Path::new("/proc")).status, Status::Missing);
    }

    #[test]
    fn little_space_and_memory_are_reported() {
        assert_eq!(space(Ok(1 << 31)).status, Status::Ok);
        assert_eq!(space(Ok(1 << 20)).status, Status::Limited);
        let unknown = space(Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(unknown.status, Status::Limited);
        assert!(unknown.detail.ends_with("permission denied"), "{}", unknown.detail);
        let memory = |kib: u64| available(&format!("MemFree: 1 kB\nMemAvailable: {kib} kB\n"));
        assert_eq!(memory(4 << 20).status, Status::Ok);
        let little = memory(1 << 10);
        assert_eq!(
            (little.status, little.detail.as_str()),
            (Status::Limited, "1 MiB are available")
        );
    }
}
