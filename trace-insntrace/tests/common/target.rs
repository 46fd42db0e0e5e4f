//! A program whose thread a service traces.
#![allow(dead_code)] // Not every test uses all of it.

use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

    /// Returns the code in memory of the program's file.
    pub(crate) fn code(&self) -> Vec<u8> {
        code_of(self.0.id())
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

/// Returns the code of files that is in the memory of a process.
pub(crate) fn code_of(process: u32) -> Vec<u8> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = std::fs::File::open(format!("/proc/{process}/mem")).unwrap();
    let mut code = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" r-xp ") && line.contains('/')) {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|hex| u64::from_str_radix(hex, 16).unwrap());
        let mut part = vec![0; (end - start) as usize];
        memory.read_exact_at(&mut part, start).unwrap();
        code.extend(part);
    }
    code
}

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not hold after ten minutes.
#[track_caller]
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(600), "waited in vain");
        thread::sleep(Duration::from_millis(10));
    }
}
