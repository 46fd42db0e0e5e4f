//! Services and clients that are killed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
