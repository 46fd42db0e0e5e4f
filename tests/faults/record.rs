//! Faults in `trace record -- COMMAND`.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;

use super::harness::{subject_path, trace, Archive};
use super::injector::{Fault, Injector};
use super::{describe, faults, USUAL};

/// The number of events that the program records.
const EVENTS: usize = 500;

/// The time after which a run hangs. The longest timeout of the manager is 5 s.
const HANGS: Duration = Duration::from_secs(120);

/// A run of the command, in a directory of its own.
struct Run {
    directory: TempDir,
    /// `None` if it hung.
    status: Option<i32>,
    calls: std::collections::BTreeMap<u64, u64>,
}

impl Run {
    /// Records a program that creates a file at its end.
    fn with(fault: Option<Fault>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = trace(&["record", "-o", "out.fxt", "--", "sh", "-c"]);
        command.arg(format!("'{}' burst {EVENTS} && touch done", subject_path().display()));
        command.current_dir(&directory).env("TMPDIR", directory.path());
        command.env_remove("XDG_RUNTIME_DIR").stdout(Stdio::null());
        command.stderr(File::create(directory.path().join("stderr")).unwrap());
        let mut injector = Injector::spawn(command, fault);
        let status = injector.wait(HANGS);
        Self { directory, status, calls: injector.calls() }
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.directory.path().join("stderr")).unwrap()
    }

    fn exists(&self, name: &str) -> bool {
        self.directory.path().join(name).exists()
    }

    /// Returns the number of events in the archive. It is well-formed, or reading it panics.
    fn events(&self) -> Option<usize> {
        let path = self.directory.path().join("out.fxt");
        let archive = path.exists().then(|| Archive::read(&path))?;
        Some(archive.providers.iter().map(|provider| provider.events.len()).sum())
    }

    /// Returns whether a message reports that events are missing. The summary of a complete
    /// recording does not, but its number of lost records does.
    fn is_reported(&self) -> bool {
        let is_summary = |line: &&str| {
            line.contains(" in out.fxt")
                || line.contains("open it with")
                || line.ends_with(" 0 lost")
        };
        let stderr = self.stderr();
        let messages = stderr.lines().filter(|line| line.starts_with("trace: "));
        messages.filter(|line| !is_summary(line)).count() != 0
    }

    /// Returns what is wrong after a fault.
    fn problem(&self, fault: Fault) -> Option<String> {
        let stderr = self.stderr();
        let code = match self.status {
            None => return Some("it hangs".to_owned()),
            Some(status) if libc::WIFEXITED(status) => libc::WEXITSTATUS(status),
            Some(status) => return Some(format!("it was killed: status {status:x}")),
        };
        if stderr.contains("panicked") {
            return Some("it panicked".to_owned());
        }
        match (code, self.exists("done"), self.events()) {
            (0, true, Some(EVENTS)) => None,
            _ if fault.effect.is_harmless() => {
                Some(format!("exit status {code}, {:?} events", self.events()))
            }
            _ if !self.is_reported() => {
                Some(format!("exit status {code}, {:?} events, no message", self.events()))
            }
            (0, false, _) => Some("the program did not run to its end".to_owned()),
            // Recording failed, or the command could not be started.
            (125 | 126, _, _) | (0, true, _) => None,
            _ => Some(format!("exit status {code}")),
        }
    }
}

fn check(most: u64) {
    let clean = Run::with(None);
    assert_eq!((clean.status, clean.events()), (Some(0), Some(EVENTS)), "{}", clean.stderr());
    let mut problems = Vec::new();
    for fault in faults(&clean.calls, most) {
        let run = Run::with(Some(fault));
        if let Some(problem) = run.problem(fault) {
            let problem = format!("{}: {problem}\n{}", describe(fault), run.stderr());
            eprintln!("{problem}");
            problems.push(problem);
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn a_recording_survives_faults_or_reports_them() {
    check(USUAL);
}

#[test]
#[ignore = "takes minutes"]
fn a_recording_survives_a_fault_of_each_call() {
    check(u64::MAX);
}
