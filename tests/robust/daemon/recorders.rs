//! A running `trace record` is controlled like a session of a daemon.

use std::fs::{self, set_permissions, Permissions};
use std::os::unix::fs::{chown, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ChildStdin;

use rustix::process::Uid;
use rustix::thread::set_thread_uid;
use trace_manager::controller::{
    ControllerError, ErrorCode, GeneralError, Output, SessionState, StartError,
};

use super::*;
use crate::harness::{subject_path, Archive};

/// A place for recorders of its own.
pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = trace(arguments);
        command.current_dir(self.0.path()).env("XDG_RUNTIME_DIR", self.0.path());
        command.env_remove("TRACE_SOCKET").env("TMPDIR", self.0.path());
        command
    }

    #[track_caller]
    pub(super) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    #[track_caller]
    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code(), 0, "{run:?}");
        serde_json::from_str(&run.stdout()).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }

    /// Records a program until its standard input is closed.
    pub(super) fn record(&self, options: &[&str]) -> Recorder {
        let mut command = self.command(&["record"]);
        command.args(options).arg("--").arg(subject_path()).arg("chatter");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let input = child.stdin.take();
        let recorder = Recorder { child, input };
        let pid = recorder.pid();
        wait_until("the recorder listens", || {
            let sessions = self.run(&["status", "--json"]).stdout();
            let sessions: Value = serde_json::from_str(&sessions).unwrap_or_default();
            let sessions = sessions.as_array().cloned().unwrap_or_default();
            sessions.iter().any(|it| it["recorder"] == pid && it["providers"] == 1)
        });
        recorder
    }

    /// Returns the directories of recorders.
    fn directories(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("trace")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub(super) fn controller(&self) -> Controller {
        Controller::connect(&self.directories()[0].join("control.sock")).unwrap()
    }
}

pub(super) struct Recorder {
    child: Child,
    input: Option<ChildStdin>,
}

impl Recorder {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the program. Returns the result of the recorder.
    #[track_caller]
    pub(super) fn end(mut self) -> Run {
        drop(self.input.take());
        Run::end_of(self.child)
    }
}

fn words(archive: &Path) -> Vec<u64> {
    Archive::read(archive).only().numbers("word")
}

#[test]
fn a_recorder_is_found_by_its_process_and_by_its_name() {
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt"]);
    let pid = recorder.pid().to_string();
    for command in [&["status"][..], &["list", "sessions"]] {
        let sessions = place.json(command);
        let session = &sessions[0];
        assert_eq!((&session["name"], &session["state"]), (&"web".into(), &"started".into()));
        assert_eq!(session["output"], place.path("web.fxt").to_str().unwrap());
    }
    assert_eq!(place.json(&["status", &pid]).as_array().unwrap().len(), 1);
    let mut longest = 0;
    for (number, name) in [&pid, "web", ""].into_iter().enumerate() {
        let file = format!("{number}.fxt");
        let names = [name].into_iter().filter(|name| !name.is_empty());
        let arguments: Vec<_> = ["snapshot", "-o", &file].into_iter().chain(names).collect();
        wait_until("a snapshot has more events than the one before", || {
            place.json(&arguments);
            let numbers = words(&place.path(&file));
            assert!(are_consecutive(&numbers));
            let is_longer = numbers.len() > longest;
            longest = longest.max(numbers.len());
            is_longer
        });
    }
    let run = recorder.end();
    assert_eq!(run.code(), 0, "{run:?}");
    let numbers = words(&place.path("web.fxt"));
    assert!(are_consecutive(&numbers) && numbers.len() >= longest);
    assert_eq!(place.directories(), [] as [PathBuf; 0], "the private directory is removed");
    let hidden = fs::read_dir(place.0.path()).unwrap().map(|it| it.unwrap().file_name());
    let hidden = hidden.filter(|name| name.to_string_lossy().starts_with('.')).count();
    assert_eq!(hidden, 0, "nothing is left of the snapshots");
}

#[test]
fn a_stop_ends_the_recording_and_the_command_continues() {
    let place = Place::new();
    let mut recorder = place.record(&["-o", "web.fxt"]);
    let summary = place.json(&["stop", "web"]);
    assert_eq!((&summary["lost"], &summary["written"]), (&0.into(), &true.into()));
    assert!(are_consecutive(&words(&place.path("web.fxt"))));
    assert!(recorder.child.try_wait().unwrap().is_none(), "the command runs");
    let run = recorder.end();
    assert_eq!(run.code(), 0, "{run:?}");
    let expected = "another command ends the recording, and the command continues";
    assert!(run.stderr().contains(expected), "{run:?}");
}

#[test]
fn categories_of_a_recorder_change_while_it_records() {
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt", "-c", "other"]);
    assert_eq!(place.json(&["categories"]), serde_json::json!({ "categories": ["other"] }));
    let changed = place.json(&["categories", "web", "--add", "chatter"]);
    assert_eq!(changed, serde_json::json!({ "categories": ["other", "chatter"] }));
    wait_until("events of the new category are recorded", || {
        place.json(&["snapshot", "-o", "now.fxt"]);
        !words(&place.path("now.fxt")).is_empty()
    });
    assert_eq!(recorder.end().code(), 0);
}

#[test]
fn recorders_of_one_name_are_told_apart_by_their_processes() {
    let place = Place::new();
    fs::create_dir(place.path("other")).unwrap();
    let recorders = ["web.fxt", "other/web.fxt"].map(|output| place.record(&["-o", output]));
    let run = place.run(&["snapshot", "web", "-o", "now.fxt"]);
    assert_eq!(run.code(), 1, "{run:?}");
    for recorder in &recorders {
        let expected = format!("web (process {})", recorder.pid());
        assert!(run.stderr().contains(&expected), "{run:?}");
        place.json(&["snapshot", &recorder.pid().to_string(), "-o", "now.fxt"]);
    }
    let run = place.run(&["stop", "wob"]);
    assert!(run.stderr().contains("there is no session 'wob'"), "{run:?}");
    assert!(run.stderr().contains("hint: sessions are web (process"), "{run:?}");
    recorders.into_iter().for_each(|recorder| assert_eq!(recorder.end().code(), 0));
}

/// Both have the same directory of temporary files.
#[test]
fn a_recorder_with_another_runtime_directory_is_not_found() {
    let place = Place::new();
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("recorded");
    let mut record = place.command(&["record", "-o", "web.fxt", "--"]);
    record.env("TMPDIR", temporary.path()).env_remove("XDG_RUNTIME_DIR");
    record.args(["sh", "-c", r#"echo "$TRACE_SOCKET" > new; mv new "$0"; read line"#]).arg(&path);
    record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = record.spawn().unwrap();
    wait_until("the command runs", || path.exists());
    let sessions = |command: &mut Command| {
        let run = Run::of(command.env("TMPDIR", temporary.path()));
        serde_json::from_str::<Value>(&run.stdout()).unwrap_or_default()
    };
    let status = || place.command(&["status", "--json"]);
    wait_until("a command with the same variables finds it", || {
        sessions(status().env_remove("XDG_RUNTIME_DIR"))[0]["recorder"] == child.id()
    });
    assert_eq!(sessions(&mut status()), Value::Null, "nothing is found");
    drop(child.stdin.take());
    Run::end_of(child);
}

#[test]
fn a_daemon_and_a_recorder_are_listed_together() {
    let place = Place::new();
    let daemon = Daemon::start();
    let recorder = place.record(&["-o", "web.fxt"]);
    let socket = daemon.path("manager.sock");
    let run = |arguments: &[&str]| {
        Run::of(place.command(arguments).env("TRACE_SOCKET", &socket)).stdout()
    };
    run(&["start", "--name", "all", "-o", "all.fxt", "--json"]);
    let sessions: Value = serde_json::from_str(&run(&["status", "--json"])).unwrap();
    let sessions = sessions.as_array().unwrap().iter();
    let sessions: Vec<_> = sessions.map(|it| (&it["name"], &it["recorder"])).collect();
    let (daemons, pid) = (Value::Null, Value::from(recorder.pid()));
    assert_eq!(sessions, [(&"all".into(), &daemons), (&"web".into(), &pid)]);
    assert!(run(&["status"]).contains("daemon"), "the daemon's sessions are marked");
    run(&["stop", "all", "--json"]);
    assert_eq!(recorder.end().code(), 0);
}

/// The session may be the daemon's.
#[test]
fn a_daemon_that_does_not_answer_is_named_beside_a_recorder() {
    let place = Place::new();
    let daemon = Daemon::start();
    let recorder = place.record(&["-o", "web.fxt"]);
    daemon.freeze();
    let mut status = place.command(&["status", "all"]);
    let run = Run::of(status.env("TRACE_SOCKET", daemon.path("manager.sock")));
    let silent = format!("the daemon, process {}, does not answer", daemon.child.id());
    assert!(run.code() == 1 && run.stderr().contains(&silent), "{run:?}");
    assert_eq!(recorder.end().code(), 0);
}

#[test]
fn a_recorder_starts_and_aborts_no_sessions() {
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt"]);
    let mut controller = place.controller();
    let code = |error| match error {
        ControllerError::Refused(refused) => refused.code,
        error => panic!("{error}"),
    };
    let unsupported = ErrorCode::General(GeneralError::Unsupported);
    let output = fs::File::create(place.path("second.fxt")).unwrap();
    let refused = controller.initialize(&streaming("second"), &output).unwrap_err();
    assert_eq!(code(refused), unsupported);
    assert_eq!(code(controller.abort("web").unwrap_err()), unsupported);
    let started = controller.start("web").unwrap_err();
    assert_eq!(code(started), ErrorCode::Start(StartError::AlreadyStarted));
    assert_eq!(controller.sessions().unwrap()[0].state, SessionState::Started);
    assert_eq!(recorder.end().code(), 0);
}

#[test]
fn another_user_gets_nothing_from_a_recorder() {
    let place = Place::new();
    let recorder = place.record(&["-o", "web.fxt"]);
    let directory = place.directories().remove(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let socket = directory.join("control.sock");
    assert_eq!((mode(&directory), mode(&socket)), (0o700, 0o600));
    if !crate::is_root() {
        return;
    }
    let snapshot = fs::File::create(place.path("stolen.fxt")).unwrap();
    let as_nobody = |act: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: user 65534 is a valid one. The thread ends with it.
                set_thread_uid(unsafe { Uid::from_raw(65534) }).unwrap();
                act();
            });
            thread.join().unwrap();
        });
    };
    as_nobody(&|| assert!(Controller::connect(&socket).is_err()));
    // The kernel's id of the user counts, not the permissions of the files.
    for (path, mode) in [(place.0.path(), 0o755), (&place.path("trace"), 0o755)] {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
    set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    as_nobody(&|| {
        let mut controller = Controller::connect(&socket).unwrap();
        assert!(controller.sessions().unwrap().is_empty());
        assert!(controller.providers().unwrap().is_empty());
        assert!(controller.snapshot("web", Output::Descriptor, &snapshot).is_err());
        assert!(controller.stop("web").is_err());
    });
    assert_eq!(recorder.end().code(), 0);
}

/// A command in a sandbox, for example. Root could write the folder all the same.
#[test]
fn a_recorder_is_found_in_a_folder_that_cannot_be_written() {
    const USER: u32 = 12345;
    let place = Place::new();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(place.0.path(), Some(USER), Some(USER)).unwrap();
    }
    // Copied by another process, because a forked child of this one might keep the file open for
    // writing.
    let program = place.path("command");
    let copied = Command::new("cp").arg(trace(&[]).get_program()).arg(&program).status().unwrap();
    assert!(copied.success());
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("XDG_RUNTIME_DIR", place.0.path()).env("TMPDIR", place.0.path());
        if is_root {
            command.uid(USER).gid(USER);
        }
        command.current_dir(place.0.path());
        command
    };
    let mut record = command(&["record", "-o", "web.fxt", "--", "sh", "-c", "read line; true"]);
    record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = record.spawn().unwrap();
    let is_found = || {
        let run = Run::of(&mut command(&["status", "--json"]));
        let sessions = serde_json::from_str::<Value>(&run.stdout()).unwrap_or_default();
        sessions[0]["recorder"] == child.id()
    };
    wait_until("the recorder listens", is_found);
    let folder = place.path("trace");
    set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
    let found_again = is_found();
    set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    assert!(found_again);
    drop(child.stdin.take());
    assert_eq!(Run::end_of(child).code(), 0);
}

/// The guard removes the directory.
#[test]
fn a_killed_recorder_is_not_found() {
    let place = Place::new();
    let mut recorder = place.record(&["-o", "web.fxt"]);
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    drop(recorder.input.take());
    wait_until("the guard ends", || place.directories().is_empty());
    let run = place.run(&["status"]);
    assert!(run.stderr().contains("cannot reach a daemon"), "{run:?}");
    assert!(are_consecutive(&words(&place.path("web.fxt"))));
}

/// The recorder and its guard are killed, so that nobody removes the directory.
#[test]
fn the_next_recording_removes_the_directory_of_a_killed_recorder_without_a_guard() {
    let place = Place::new();
    let mut recorder = place.record(&["-o", "killed.fxt"]);
    let killed = place.directories().remove(0);
    kill_guard(recorder.pid());
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    drop(recorder.input.take());
    assert!(killed.exists(), "the test has killed both");
    let running = place.record(&["-o", "running.fxt"]);
    assert!(!killed.exists());
    let [directory] = &*place.directories() else { panic!("{:?}", place.directories()) };
    assert!(directory.join("control.sock").exists() && directory.join("manager.sock").exists());
    let run = place.run(&["record", "-o", "other.fxt", "--", "true"]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(directory.join("control.sock").exists(), "that of a running recorder stays");
    assert_eq!(running.end().code(), 0);
    assert!(place.directories().is_empty());
}

/// A start that is killed between any two system calls on the directory.
#[test]
fn the_next_recording_removes_the_directory_of_a_recorder_that_was_killed_at_its_start() {
    let place = Place::new();
    fs::create_dir(place.path("trace")).unwrap();
    set_permissions(place.path("trace"), Permissions::from_mode(0o700)).unwrap();
    let mut left = 0;
    for _ in 0..30 {
        let mut command = place.command(&["record", "-o", "killed.fxt", "--", "true"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut has_ended = false;
        while place.directories().is_empty() && !has_ended {
            has_ended = child.try_wait().unwrap().is_some();
        }
        if has_ended {
            continue;
        }
        let stopped = Pid::from_child(&child);
        kill_process(stopped, Signal::Stop).unwrap();
        kill_guard(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        left += place.directories().len();
        let run = place.run(&["record", "-o", "next.fxt", "--", "true"]);
        assert_eq!(run.code(), 0, "{run:?}");
        // A child that had not executed its program yet has the lock until it does: a later
        // recording removes the directory then.
        wait_until("the directory is removed", || {
            place.directories().is_empty() || {
                place.run(&["record", "-o", "next.fxt", "--", "true"]);
                place.directories().is_empty()
            }
        });
    }
    assert!(left > 0, "some were killed while they had a directory");
}

/// Kills the guard of a recorder, if there is one.
fn kill_guard(recorder: u32) {
    let threads = fs::read_dir(format!("/proc/{recorder}/task")).unwrap();
    for thread in threads {
        let children = fs::read_to_string(thread.unwrap().path().join("children"));
        for child in children.unwrap_or_default().split_whitespace() {
            let name = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if name.starts_with("trace-guard") {
                let guard = Pid::from_raw(child.parse().unwrap()).unwrap();
                kill_process(guard, Signal::Kill).unwrap();
            }
        }
    }
}
