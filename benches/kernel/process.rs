//! Processes of the benchmark, and their CPU time.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::ROLE;

/// Returns a command that runs this program in a role.
pub(crate) fn command(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(ROLE, role).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs a role to its end. Returns the numbers that it prints.
pub(crate) fn numbers(role: &str) -> Vec<u64> {
    let output = command(role).stdin(Stdio::null()).output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    parse(&String::from_utf8_lossy(&output.stdout))
}

/// Returns the numbers of a line.
pub(crate) fn parse(line: &str) -> Vec<u64> {
    line.split_whitespace().map(number).collect()
}

pub(crate) fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word} is not a number"))
}

/// Returns the next line of a process.
pub(crate) fn line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    line.trim_end().to_owned()
}

/// Closes the standard input of a process, which ends then.
pub(crate) fn end(child: &mut Child) {
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

/// Returns the CPU time of this process in nanoseconds.
pub(crate) fn cpu_nanos() -> u64 {
    let times = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    times.tv_sec as u64 * 1_000_000_000 + times.tv_nsec as u64
}
