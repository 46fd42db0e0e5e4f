//! `perf record` with the same tracepoints.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process;
use crate::raw::SCHED;
use crate::ROLE;

/// The size of perf's buffer of each CPU.
const BUFFER: &str = "64M";

/// Returns whether perf can record tracepoints.
pub(crate) fn works() -> bool {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = record(&directory.path().join("perf.data"));
    let status = command.args(["--", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs a role to its end below `perf record`, with the data in memory. Returns the numbers that
/// it prints.
pub(crate) fn numbers(role: &str) -> Vec<u64> {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let mut command = record(&directory.path().join("perf.data"));
    command.arg("--").arg(std::env::current_exe().expect("this program")).env(ROLE, role);
    let output = command.stdin(Stdio::null()).output().expect("perf runs");
    assert!(output.status.success(), "{output:?}");
    process::parse(&String::from_utf8_lossy(&output.stdout))
}

/// Returns a command that records the events of a program.
fn record(data: &Path) -> Command {
    let mut command = Command::new("perf");
    command.args(["record", "--quiet", "--mmap-pages", BUFFER, "-o"]).arg(data);
    for event in SCHED {
        command.args(["-e", &event.replacen('/', ":", 1)]);
    }
    command
}
