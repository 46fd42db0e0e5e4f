//! libipt in a process of its own, which measures for each line that it reads.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::sample::Sample;

/// A part of libipt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Packets,
    Encoder,
    Instructions,
    Blocks,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Packets => "packet decoder",
            Self::Encoder => "encoder",
            Self::Instructions => "instruction decoder",
            Self::Blocks => "block decoder",
        }
    }
}

pub(crate) struct Libipt {
    process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    _files: tempfile::TempDir,
}

impl Libipt {
    /// Starts libipt with a trace, if it is installed.
    pub(crate) fn start(sample: &Sample) -> Option<Self> {
        let files = tempfile::tempdir().expect("a temporary directory");
        let driver = files.path().join("driver");
        if !compile(&driver) {
            return None;
        }
        sample.write(files.path());
        let mut command = Command::new(driver);
        command.arg("time").args(sample.files(files.path()));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the driver runs");
        let requests = process.stdin.take();
        let replies = BufReader::new(process.stdout.take().expect("a pipe"));
        Some(Self { process, requests, replies, _files: files })
    }

    /// Returns the time of a part, and the number of items.
    pub(crate) fn measure(&mut self, part: Part) -> (Duration, u64) {
        let requests = self.requests.as_mut().expect("a pipe");
        writeln!(requests, "{}", part as u8).expect("the driver reads");
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("the driver writes");
        let (seconds, count) = line.trim().split_once(' ').expect("two numbers");
        let time = Duration::from_secs_f64(seconds.parse().expect("seconds"));
        (time, count.parse().expect("a number"))
    }
}

impl Drop for Libipt {
    fn drop(&mut self) {
        drop(self.requests.take());
        self.process.wait().expect("the driver ends");
    }
}

fn compile(driver: &Path) -> bool {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/libipt/driver.c");
    let mut command = Command::new("cc");
    command.args(["-O2", source, "-lipt", "-o"]).arg(driver);
    command.output().is_ok_and(|output| output.status.success())
}
