//! No user can make another user's program write files, or send its trace to them.

use std::fs::{set_permissions, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

use crate::harness::{subject_path, Run};

/// Two users that are not root.
const USER: u32 = 12345;
const OTHER: u32 = 12346;

/// A directory that all users can use, with a copy of the traced program in it.
struct Stage {
    directory: TempDir,
    program: PathBuf,
}

impl Stage {
    fn new(mode: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        set_permissions(directory.path(), Permissions::from_mode(0o1777)).unwrap();
        let program = directory.path().join("program");
        // Copied by another process, because a forked child of this one might keep the file open
        // for writing.
        let copied = Command::new("cp").arg(subject_path()).arg(&program).status().unwrap();
        assert!(copied.success());
        set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        Self { directory, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a command that runs the program as a user.
    fn program(&self, user: u32, role: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(role).env_clear().env("TRACE_SOCKET", self.path("sock")).uid(user).gid(user);
        command
    }
}

/// A program of a user that listens like a manager.
struct Manager {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Manager {
    fn start(stage: &Stage, user: u32) -> Self {
        let socket = stage.path("sock");
        let mut command = stage.program(user, &["listen", socket.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut manager = Self { child, lines };
        assert_eq!(manager.line(), "ready");
        set_permissions(&socket, Permissions::from_mode(0o777)).unwrap();
        manager
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Ends the manager, and returns its output.
    fn end(mut self, stage: &Stage) -> Vec<String> {
        // All earlier connections are accepted before this one.
        drop(std::os::unix::net::UnixStream::connect(stage.path("sock")).unwrap());
        let mut said = vec![self.line()];
        while said.last().is_some_and(|line| line != "received 0") {
            said.push(self.line());
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        said
    }
}

/// Root's set-user-ID program, run by a user who chooses a file and a manager.
#[test]
fn a_privileged_program_ignores_the_environment() {
    check_ignores_the_environment(|| Some(Stage::new(0o4755)));
}

#[test]
fn a_set_group_id_program_ignores_the_environment() {
    check_ignores_the_environment(|| Some(Stage::new(0o2755)));
}

#[test]
fn a_program_with_file_capabilities_ignores_the_environment() {
    check_ignores_the_environment(|| {
        let stage = Stage::new(0o755);
        match add_capability(&stage.program) {
            Ok(()) => Some(stage),
            Err(error) => {
                eprintln!("skipped: no file capabilities on this file system: {error}");
                None
            }
        }
    });
}

/// Gives a program `CAP_NET_RAW`, permitted and effective: capabilities(7).
fn add_capability(program: &Path) -> rustix::io::Result<()> {
    const REVISION_2: u32 = 0x0200_0000;
    const EFFECTIVE: u32 = 1;
    const NET_RAW: u32 = 1 << 13;
    // Permitted and inheritable, the lower 32 of each, and the upper ones.
    let words = [REVISION_2 | EFFECTIVE, NET_RAW, 0, 0, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(program, "security.capability", &bytes, flags)
}

/// Checks that the user who runs a privileged program chooses neither its output nor its manager.
/// `stage` has the program, or prints a message.
#[track_caller]
fn check_ignores_the_environment(stage: impl FnOnce() -> Option<Stage>) {
    if !crate::is_root() {
        return;
    }
    let Some(stage) = stage() else { return };
    let precious = stage.path("precious");
    std::fs::write(&precious, "precious").unwrap();
    set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();

    for output in [&precious, &stage.path("new")] {
        let mut command = stage.program(USER, &["trace-as"]);
        let run = Run::of(command.env("TRACE_OUTPUT", output));
        if run.stdout().contains("privileged false") {
            eprintln!("skipped: programs are not privileged on this file system");
            return;
        }
        assert_eq!(run.stdout(), "privileged true\nstatus ok\n");
        assert_names(stage.directory.path(), &["precious", "program"]);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    }

    let plain = Stage::new(0o755);
    let manager = Manager::start(&plain, USER);
    let mut command = stage.program(USER, &["trace-as"]);
    let runtime = plain.path("runtime");
    std::fs::create_dir_all(runtime.join("trace")).unwrap();
    std::os::unix::fs::symlink(plain.path("sock"), runtime.join("trace/manager.sock")).unwrap();
    for (name, value) in [("TRACE_SOCKET", plain.path("sock")), ("XDG_RUNTIME_DIR", runtime)] {
        let run = Run::of(command.env_clear().env(name, value));
        assert_eq!(run.stdout(), "privileged true\nstatus ok\n");
    }
    assert_eq!(manager.end(&plain), ["received 0"], "only the test has connected");
}

#[track_caller]
fn assert_names(directory: &Path, expected: &[&str]) {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, expected);
}

/// A manager of one user, and a program of another or the same user.
#[test]
fn a_manager_of_another_user_gets_no_data() {
    if !crate::is_root() {
        return;
    }
    for (program, manager, is_accepted) in
        [(0, USER, false), (OTHER, USER, false), (USER, USER, true), (USER, 0, true), (0, 0, true)]
    {
        let (stage, case) = (Stage::new(0o755), format!("{program} and {manager}"));
        let listening = Manager::start(&stage, manager);
        let run = Run::of(&mut stage.program(program, &["trace-as"]));
        let said = listening.end(&stage);
        if is_accepted {
            assert_eq!(run.stdout(), "privileged false\nstatus ok\n", "{case}");
            assert_eq!(said[0], "received 1", "{case}");
        } else {
            assert!(run.stdout().contains(&format!("runs as user {USER}")), "{case}: {run:?}");
            assert!(said.iter().all(|line| line == "received 0"), "{case}: {said:?}");
        }
    }
}

#[test]
fn a_program_may_accept_a_user_by_name() {
    if !crate::is_root() {
        return;
    }
    for (uid, is_accepted) in [(USER, true), (OTHER, false)] {
        let stage = Stage::new(0o755);
        let listening = Manager::start(&stage, USER);
        let run = Run::of(&mut stage.program(0, &["trace-as", &uid.to_string()]));
        assert_eq!(run.stdout().contains("status ok"), is_accepted, "{uid}: {run:?}");
        let first = if is_accepted { "received 1" } else { "received 0" };
        assert_eq!(listening.end(&stage)[0], first, "{uid}");
    }
}
