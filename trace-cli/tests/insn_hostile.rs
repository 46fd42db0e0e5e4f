//! `trace insn` with programs that act against their tracer.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../trace-insntrace/tests/common/required.rs"]
mod required;

use std::io::{Read, Write};
use std::os::unix::fs::{chown, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use required::lacks;
use tempfile::TempDir;

/// A user without privileges, and its group.
const NOBODY: u32 = 65534;

/// A directory with `trace` and a program, which both run without privileges.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(place.path("run")).unwrap();
        if is_root() {
            for directory in [place.0.path(), &place.path("run")] {
                chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        std::fs::copy(env!("CARGO_BIN_EXE_trace"), place.path("trace")).unwrap();
        compile(&place.path("hostile"));
        for name in ["trace", "hostile"] {
            std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns a command of this user, or of one without privileges.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.path(name));
        if is_root() {
            command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            command.arg(self.path(name));
        }
        command.env("XDG_RUNTIME_DIR", self.path("run")).env("TRACE_CONFIG", "").current_dir("/");
        command.env_remove("TRACE_SOCKET").stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    #[track_caller]
    fn insn(&self, arguments: &[&str]) {
        let output = self.command("trace").arg("insn").args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Compiles the programs of the step engine's tests.
fn compile(program: &Path) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = crates.join("trace-insntrace/tests/step/hostile.c");
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    compiler.args(["-O1", "-pthread", "-o"]).arg(program).arg(source);
    assert!(compiler.status().unwrap().success());
}

/// Waits until the program runs.
fn wait_for(child: &mut Child) {
    let mut line = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ready\n");
}

/// Lets the program continue, and returns what it prints.
fn answer(mut child: Child) -> String {
    child.stdin.take().unwrap().write_all(b"x\n").unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    child.wait().unwrap();
    output
}

#[test]
fn a_program_cannot_trace_the_process_that_records_it() {
    let place = Place::new();
    for engine in ["step", "block"] {
        let mut record = place.command("trace");
        record.args(["insn", "record", "--engine", engine, "-o"]).arg(place.path(engine));
        record.arg("--").arg(place.path("hostile")).arg("tracing back");
        let mut recorder = record.spawn().unwrap();
        wait_for(&mut recorder);
        assert_eq!(answer(recorder), "ok\n", "{engine}");
    }
}

#[test]
fn a_program_cannot_trace_the_controller() {
    let place = Place::new();
    for engine in ["step", "block"] {
        let mut program = place.command("hostile").arg("tracing back").spawn().unwrap();
        wait_for(&mut program);
        place.insn(&["init", "--engine", engine]);
        place.insn(&["alloc", "--circular"]);
        place.insn(&["assign", "0", &program.id().to_string()]);
        place.insn(&["start"]);
        assert_eq!(answer(program), "ok\n", "{engine}");
        place.insn(&["reset"]);
    }
}

#[test]
fn reset_reports_a_thread_that_is_not_released() {
    let place = Place::new();
    let mut program = place.command("hostile").arg("in vfork").spawn().unwrap();
    wait_for(&mut program);
    let stat = format!("/proc/{}/stat", program.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") D ") {
        std::thread::yield_now();
    }
    place.insn(&["init"]);
    place.insn(&["alloc", "--circular"]);
    place.insn(&["assign", "0", &program.id().to_string()]);
    place.insn(&["start"]);
    let output = place.command("trace").args(["insn", "reset"]).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("1 thread is not released yet\nhint: "), "{errors}");
    assert_eq!(answer(program), "ok\n");
}

/// Returns a copy of `id` whose file grants the privileges of a user, of whom it is.
fn setuid_program(place: &Place, user: u32) -> PathBuf {
    let program = place.path(&format!("id-{user}"));
    std::fs::copy("/usr/bin/id", &program).unwrap();
    chown(&program, Some(user), Some(user)).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    program
}

/// Records a program. Returns what it prints, and the messages of the recording.
fn recorded(mut trace: Command, engine: &str, directory: &Path, program: &Path) -> [String; 2] {
    trace.args(["insn", "record", "--engine", engine, "--budget", "3000", "-o"]).arg(directory);
    let output = trace.arg("--").arg(program).arg("-u").output().unwrap();
    let [printed, messages] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(0), "{messages}");
    [printed, messages]
}

#[test]
fn setuid_programs_have_their_privileges_if_root_traces_them() {
    if !is_root() {
        return lacks("root, to create files of other users");
    }
    let place = Place::new();
    let [of_root, of_nobody] = [0, NOBODY].map(|user| setuid_program(&place, user));
    for engine in ["step", "block"] {
        let directory = place.path(engine);
        let mut trace = Command::new(place.path("trace"));
        trace.env("TRACE_CONFIG", "");
        let [printed, messages] = recorded(trace, engine, &directory, &of_nobody);
        assert_eq!(printed, "65534\n", "{messages}");
        assert!(messages.contains("in 3000 steps") && !messages.contains("privileges"));

        let directory = place.path(&format!("{engine}-user"));
        let [printed, messages] = recorded(place.command("trace"), engine, &directory, &of_root);
        assert_eq!(printed, "65534\n", "{messages}");
        let message = format!(
            "trace: {} was executed without the privileges of its file\nhint: the kernel grants \
             them to a traced program only if root traces it",
            of_root.display()
        );
        assert!(messages.contains(&message), "{messages}");
        assert!(messages.contains("in 3000 steps"), "{messages}");
    }
}
