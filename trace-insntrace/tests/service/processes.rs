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

/// How many descriptors of each kind a process has, beside its standard streams.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Descriptors {
    pub(crate) all: usize,
    pub(crate) chunks: usize,
    pub(crate) sockets: usize,
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

    pub(crate) fn descriptors(&self) -> Descriptors {
        let mut descriptors = Descriptors::default();
        for entry in std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).unwrap() {
            let path = entry.unwrap().path();
            if ["0", "1", "2"].into_iter().any(|stream| path.ends_with(stream)) {
                continue;
            }
            let Ok(link) = std::fs::read_link(&path) else { continue };
            let name = link.to_string_lossy();
            descriptors.all += 1;
            descriptors.chunks += usize::from(name.contains("memfd:trace-insn"));
            descriptors.sockets += usize::from(name.starts_with("socket:"));
        }
        descriptors
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
