//! No other user can access a command's session, for any umask.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Uid;
use rustix::thread::set_thread_uid;

use crate::harness::{subject_path, trace, wait_until, Archive, Run};

/// Runs a function as a user other than root.
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: user 65534 is a valid one. The thread ends with it.
            set_thread_uid(unsafe { Uid::from_raw(65534) }).unwrap();
            act()
        });
        thread.join().unwrap()
    })
}

/// `trace record` under a umask. Its command writes the socket's path to a file, and waits.
struct Recording {
    child: std::process::Child,
    socket: PathBuf,
    go: PathBuf,
    output: PathBuf,
}

impl Recording {
    fn start(directory: &Path, umask: &str) -> Self {
        let path = |name: &str| directory.join(name);
        let (socket_path, go, output) = (path("socket-path"), path("go"), path("out.fxt"));
        let script = "umask $1; exec \"$2\" record -o \"$3\" -- sh -c 'echo \"$TRACE_SOCKET\" > \
                      \"$0.new\"; mv \"$0.new\" \"$0\"; while ! test -e \"$1\"; do sleep 0.01; done; \
                      exec \"$2\" end return' \"$4\" \"$5\" \"$6\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", umask]).arg(trace(&[]).get_program()).arg(&output);
        command.arg(&socket_path).arg(&go).arg(subject_path());
        command.env("TMPDIR", path("tmp")).env_remove("XDG_RUNTIME_DIR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("the command writes the socket's path", || socket_path.exists());
        let socket = fs::read_to_string(&socket_path).unwrap().trim_end().into();
        Self { child, socket, go, output }
    }

    fn end(self) {
        fs::write(&self.go, "").unwrap();
        let run = Run::end_of(self.child);
        assert_eq!(run.code(), 0, "{run:?}");
        assert_eq!(Archive::read(&self.output).only().events.len(), 2);
    }
}

/// A directory with a subdirectory like `/tmp`.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(place.path().join("tmp")).unwrap();
    fs::set_permissions(place.path().join("tmp"), Permissions::from_mode(0o1777)).unwrap();
    place
}

#[test]
fn the_sessions_directory_is_private_under_any_umask() {
    for umask in ["000", "022", "077", "277"] {
        let place = place();
        let recording = Recording::start(place.path(), umask);
        let private = recording.socket.parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&private).unwrap().mode() & 0o7777, 0o700, "umask {umask}");
        if rustix::process::geteuid().is_root() {
            let (socket, aside) = (&recording.socket, place.path().join("tmp/aside"));
            let denied = |error: std::io::Error| error.kind() == ErrorKind::PermissionDenied;
            as_nobody(|| {
                assert!(UnixStream::connect(socket).is_err_and(denied), "umask {umask}");
                assert!(fs::rename(socket, &aside).is_err_and(denied), "umask {umask}");
                assert!(fs::rename(&private, &aside).is_err_and(denied), "umask {umask}");
            });
        } else {
            crate::lacks("root, in part");
        }
        recording.end();
        assert!(!private.exists());
    }
}

#[test]
fn directories_that_others_can_rename_are_not_used() {
    let place = place();
    let shared = place.path().join("tmp");
    let directory_in = |mode: u32| {
        fs::set_permissions(&shared, Permissions::from_mode(mode)).unwrap();
        let mut command = trace(&["record", "-o"]);
        command.arg(place.path().join("out.fxt"));
        command.args(["--", "sh", "-c", "echo \"$TRACE_SOCKET\""]);
        let run = Run::of(command.env("TMPDIR", &shared).env("XDG_RUNTIME_DIR", &shared));
        assert_eq!(run.code(), 0, "{run:?}");
        PathBuf::from(run.stdout().trim_end())
    };
    for (mode, is_taken) in [(0o700, true), (0o1777, true), (0o777, false), (0o775, false)] {
        assert_eq!(directory_in(mode).starts_with(&shared), is_taken, "{mode:o}");
    }
}
