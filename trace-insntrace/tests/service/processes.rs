//! Processes of the tests: programs to trace, and services and clients that are killed.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use trace_insntrace::controller::ThreadKoid;

/// A shell that computes for each line of its input.
pub(crate) struct Target(Child);

impl Target {
    pub(crate) fn start() -> Self {
        Self::after("")
    }

    /// The same, after other commands.
    pub(crate) fn after(commands: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        let compute = "echo x; while read -r n; do n=$((n + 1)); done; exit 6";
        command.args(["-c", &format!("{commands}\n{compute}")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
        Self(child)
    }

    pub(crate) fn thread(&self) -> ThreadKoid {
        ThreadKoid(self.0.id().into())
    }

    pub(crate) fn write_lines(&mut self, count: usize) {
        let lines = "1\n".repeat(count);
        self.0.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    }

    pub(crate) fn is_traced(&self) -> bool {
        let status = std::fs::read(format!("/proc/{}/status", self.0.id())).unwrap();
        let status = String::from_utf8_lossy(&status);
        let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        line.unwrap().trim() != "0"
    }

    /// Checks that the program continues to its end.
    #[track_caller]
    pub(crate) fn finish(mut self) {
        assert!(!self.is_traced());
        drop(self.0.stdin.take());
        assert_eq!(self.0.wait().unwrap().code(), Some(6));
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// The path of the socket, in the environment of a process of this program.
pub(crate) const SOCKET: &str = "TRACE_TEST_INSN_SOCKET";

/// Any other argument, likewise.
pub(crate) const ARGUMENT: &str = "TRACE_TEST_INSN_ARGUMENT";

/// Returns an argument of this process.
pub(crate) fn argument(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// A process of this program that runs one of its ignored tests. It is killed when it is dropped.
pub(crate) struct Helper(pub(crate) Child);

impl Helper {
    pub(crate) fn start(test: &str, socket: &Path, argument: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env(SOCKET, socket).env(ARGUMENT, argument);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for a line of its output.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let output = self.0.stdout.as_mut().unwrap();
        let (mut found, mut byte) = (String::new(), [0]);
        while !found.contains(text) {
            output.read_exact(&mut byte).expect(&found);
            found.push(byte[0].into());
        }
    }

    /// Returns whether the service has a thread for a client.
    pub(crate) fn has_client(&self) -> bool {
        let mut threads = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        threads.any(|thread| {
            let name = std::fs::read_to_string(thread.unwrap().path().join("comm"));
            name.is_ok_and(|name| name.trim_end() == "trace-insn-call")
        })
    }

    /// Returns the descriptors of the process, and how many of them are chunks.
    pub(crate) fn descriptors(&self) -> (usize, usize) {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).unwrap();
        let links: Vec<_> =
            entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok()).collect();
        let is_chunk = |link: &&PathBuf| link.to_string_lossy().contains("memfd:trace-insn");
        (links.len(), links.iter().filter(is_chunk).count())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
