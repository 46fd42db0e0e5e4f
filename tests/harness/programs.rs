//! The command `trace` and the traced program `subject`.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use super::building::products;
use super::happens;

/// Returns a command without the environment variables for tracing.
fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in
        ["SOCKET", "OUTPUT", "CATEGORIES", "BUFFER_SIZE", "BUFFERING_MODE", "CLOCK", "FORMAT"]
    {
        command.env_remove(format!("TRACE_{name}"));
    }
    // The user's configuration has no effect on tests.
    command.env("TRACE_CONFIG", "").stdin(Stdio::null());
    command
}

/// Returns the path of the traced program.
pub(crate) fn subject_path() -> PathBuf {
    products().join("examples/subject")
}

/// Returns the path of an example that is built for tests.
#[allow(dead_code, reason = "not all tests run examples")]
pub(crate) fn example_path(name: &str) -> PathBuf {
    products().join("examples").join(name)
}

/// Returns a command that runs a role of the traced program.
pub(crate) fn subject(arguments: &[&str]) -> Command {
    let mut subject = command(subject_path());
    // The program must not find a manager by itself.
    subject.args(arguments).env("TRACE_SOCKET", "/nonexistent/manager.sock");
    subject
}

/// Returns a command that runs `trace`.
pub(crate) fn trace(arguments: &[&str]) -> Command {
    let mut trace = command(products().join("trace"));
    trace.args(arguments);
    trace
}

/// Returns a command that records a role of the traced program into `output`. Both ignore no
/// signals, also if the tests do, as under `nohup`.
pub(crate) fn record(options: &[&str], output: &Path, role: &[&str]) -> Command {
    let mut trace = command("env");
    trace.arg("--default-signal=HUP,INT,QUIT").arg(products().join("trace"));
    trace.args(["record", "-o"]).arg(output).args(options).arg("--").arg(subject_path()).args(role);
    trace
}

/// Runs `trace recover`.
#[track_caller]
pub(crate) fn recover(output: &Path) {
    let run = Run::of(trace(&["recover"]).arg(output));
    assert_eq!(run.code(), 0, "{run:?}");
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run(pub(crate) Output);

impl Run {
    /// Runs a command to its end, and collects its output.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::end_of(command.spawn().expect("the program can be run"))
    }

    /// Collects a child's output, and waits for its end with a timeout.
    #[track_caller]
    pub(crate) fn end_of(mut child: Child) -> Self {
        drop(child.stdin.take());
        let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let ends = happens(|| child.try_wait().expect("the child can be waited for").is_some());
        if !ends {
            child.kill().expect("it is there");
        }
        let status = child.wait().expect("the child can be waited for");
        assert!(ends, "the process ends by itself");
        let (stdout, stderr) = (out.join().expect("it reads"), err.join().expect("it reads"));
        Self(Output { status, stdout, stderr })
    }

    /// Returns the exit code.
    #[track_caller]
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or_else(|| panic!("expected an exit code: {self:?}"))
    }

    /// Returns its standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Returns its standard output.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        }
        bytes
    })
}
