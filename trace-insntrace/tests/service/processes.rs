//! Services and clients that are killed.

use std::fs;
use std::io::{Read, Write};
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

/// What a process has: descriptors beside its standard streams, mapped chunks, and threads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) all: usize,
    pub(crate) chunks: usize,
    pub(crate) sockets: usize,
    pub(crate) events: usize,
    pub(crate) mappings: usize,
    pub(crate) threads: usize,
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

    /// Returns the rest of a line of its output.
    fn line(&mut self) -> String {
        let output = self.0.stdout.as_mut().unwrap();
        let (mut found, mut byte) = (String::new(), [0]);
        while byte != *b"\n" {
            output.read_exact(&mut byte).expect(&found);
            found.push(byte[0].into());
        }
        found.trim_end().to_owned()
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

    /// Asks for a number, and returns it.
    pub(crate) fn ask(&mut self, question: &str) -> usize {
        writeln!(self.0.stdin.as_mut().unwrap(), "{question}").unwrap();
        self.wait_for(&format!("{question} "));
        self.line().parse().unwrap()
    }

    pub(crate) fn held(&self) -> Held {
        let process = format!("/proc/{}", self.0.id());
        let mut held = Held::default();
        for entry in fs::read_dir(format!("{process}/fd")).unwrap() {
            let path = entry.unwrap().path();
            if ["0", "1", "2"].into_iter().any(|stream| path.ends_with(stream)) {
                continue;
            }
            let Ok(link) = fs::read_link(&path) else { continue };
            let name = link.to_string_lossy();
            held.all += 1;
            held.chunks += usize::from(name.contains("memfd:trace-insn"));
            held.sockets += usize::from(name.starts_with("socket:"));
            held.events += usize::from(name.contains("[perf_event]"));
        }
        let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
        held.mappings = maps.matches("memfd:trace-insn").count();
        held.threads = fs::read_dir(format!("{process}/task")).unwrap().count();
        held
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
