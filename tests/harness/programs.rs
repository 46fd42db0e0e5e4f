//! The command `trace` and the traced program `subject`, built once and run.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use super::happens;

/// Builds the executables, and returns their directory.
///
/// Cargo builds neither another package's binary nor, for a single test, the examples.
fn executables() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let examples = ["subject", "importer", "machine_load", "slow_once"];
        let examples = examples.map(|name| ["--example", name]).concat();
        build(&[&["--bin", "trace"], &examples[..]].concat())
    })
}

/// Builds the library that `trace record --xray` preloads.
#[allow(dead_code, reason = "not all tests run programs with sleds")]
pub(crate) fn build_xray_runtime() {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(&["--lib", "--example", "subject"]));
}

/// Builds what the options of cargo select, in the profile of this test. Returns the directory.
///
/// An example has to be selected: then dependencies have the features that the tests of the
/// workspace select, and are not compiled again.
fn build(options: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let profile = test.ancestors().nth(2).expect("tests are in TARGET/PROFILE/deps").to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--workspace"]).args(options);
    cargo.arg("--target-dir").arg(profile.parent().expect("as above"));
    cargo.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success(), "the programs are built");
    profile
}

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
    executables().join("examples/subject")
}

/// Returns the path of an example that is built for tests.
#[allow(dead_code, reason = "not all tests run examples")]
pub(crate) fn example_path(name: &str) -> PathBuf {
    executables().join("examples").join(name)
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
    let mut trace = command(executables().join("trace"));
    trace.args(arguments);
    trace
}

/// Returns a command that records a role of the traced program into `output`.
pub(crate) fn record(options: &[&str], output: &Path, role: &[&str]) -> Command {
    let mut trace = trace(&["record", "-o"]);
    trace.arg(output).args(options).arg("--").arg(subject_path()).args(role);
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
