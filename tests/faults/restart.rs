//! Faults in a daemon that starts after a kill, and whose session goes on.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use trace_manager::controller::{Controller, Output, Summary, TraceConfig};
use trace_protocol::mode::BufferingMode;

use super::harness::{subject, trace, wait_until, Archive, PATIENCE};
use super::injector::{Fault, Injector};
use super::{describe, faults};

/// The file of a session that goes on, in the folder of the daemon's socket.
const KEPT: &str = ".trace-sessions";

/// A program, and what a killed daemon has left: the first part of an archive, and the file of its
/// session.
struct Stage {
    directory: TempDir,
    program: Child,
    /// The path of the file, and its bytes.
    kept: (PathBuf, Vec<u8>),
}

impl Stage {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut daemon = Injector::spawn(command(&directory), None);
        wait_until("the daemon answers", || controller(&directory).is_some());
        let mut chatter = subject(&["chatter"]);
        chatter.env("TRACE_SOCKET", directory.path().join("manager.sock"));
        let program = chatter.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut controller = controller(&directory).unwrap();
        let config = TraceConfig {
            name: "kept".to_owned(),
            mode: BufferingMode::Streaming,
            buffer_size: 256 << 10,
            detached: true,
            keep_alive: true,
            output: Output::Beneath("out.fxt".to_owned()),
            ..TraceConfig::default()
        };
        let output = File::open(directory.path()).unwrap();
        controller.initialize(&config, &output).unwrap();
        controller.start("kept").unwrap();
        wait_until("the program is recorded", || has_events(&mut controller));
        daemon.kill();
        let first = directory.path().join("out.fxt");
        wait_until("the guard completes the archive", || first.exists());
        let entries = fs::read_dir(directory.path().join(KEPT)).unwrap();
        let path = entries.map(|entry| entry.unwrap().path()).next().expect("it goes on");
        let kept = (path.clone(), fs::read(path).unwrap());
        Self { directory, program, kept }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.path("stderr")).unwrap()
    }

    /// Starts the next daemon with a fault from its start on. Returns its session's end, or why it
    /// has none, and the number of calls.
    fn restart(&self, fault: Option<Fault>) -> (Result<Summary, String>, Injector) {
        let (kept, bytes) = &self.kept;
        fs::create_dir_all(self.path(KEPT)).unwrap();
        fs::write(kept, bytes).unwrap();
        let mut daemon = Injector::spawn(command(&self.directory), fault);
        let deadline = Instant::now() + PATIENCE / 20;
        loop {
            if Instant::now() > deadline {
                panic!("{:?}: nothing happens\n{}", fault.map(describe), self.stderr());
            }
            if !daemon.is_running() {
                let status = daemon.wait(PATIENCE);
                let is_refusal = status.is_some_and(|it| libc::WIFEXITED(it));
                return match is_refusal && self.stderr().contains("trace: ") {
                    true => (Err("it does not start".to_owned()), daemon),
                    false => panic!("{:?}: it ends: {status:?}", fault.map(describe)),
                };
            }
            if self.stderr().contains("does not go on") {
                return (Err("it does not go on".to_owned()), daemon);
            }
            if let Some(mut controller) = controller(&self.directory) {
                // A program without a buffer is in the results, and in the log at once.
                if has_events(&mut controller) || self.stderr().contains("does not record") {
                    let summary = controller.stop("kept").map_err(|error| error.to_string());
                    return (summary, daemon);
                }
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns what is wrong after a fault.
    fn problem(&self, fault: Option<Fault>) -> (Option<String>, Injector) {
        let (result, daemon) = self.restart(fault);
        let is_harmless = fault.is_none_or(|fault| fault.effect.is_harmless());
        let stderr = self.stderr();
        let problem = match result {
            _ if stderr.contains("panicked") => Some("it panicked".to_owned()),
            Err(reason) => is_harmless.then_some(reason),
            Ok(Summary { failure: Some(failure), .. }) => {
                is_harmless.then(|| format!("the archive failed: {}", failure.reason))
            }
            Ok(Summary { refusals: 1.., .. }) if !is_harmless => None,
            Ok(_) => self.problem_of_part(),
        };
        // The first part stays as it was.
        assert!(Archive::read(&self.path("out.fxt")).only().count("word") > 0);
        let _ = fs::remove_file(self.path("out.2.fxt"));
        (problem.map(|problem| format!("{problem}\n{stderr}")), daemon)
    }

    /// The next part has the program's events, and the time between.
    fn problem_of_part(&self) -> Option<String> {
        let archive = Archive::read(&self.path("out.2.fxt"));
        let gaps = archive.providers.iter().map(|it| it.interruptions.len()).sum::<usize>();
        let events: usize = archive.providers.iter().map(|it| it.count("word")).sum();
        (gaps != 1 || events == 0).then(|| format!("{gaps} gaps, {events} events"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn command(directory: &TempDir) -> std::process::Command {
    let path = directory.path();
    let mut command = trace(&["daemon", "--socket"]);
    command.arg(path.join("manager.sock")).arg("--dir").arg(path);
    command.stderr(File::create(path.join("stderr")).unwrap());
    command
}

fn controller(directory: &TempDir) -> Option<Controller> {
    let mut controller = Controller::connect(&directory.path().join("control.sock")).ok()?;
    controller.groups().ok().map(|_| controller)
}

/// Returns whether the session has events.
fn has_events(controller: &mut Controller) -> bool {
    thread::sleep(Duration::from_millis(5));
    // Fails if there is no session, or it does not record yet.
    let _ = controller.flush("kept");
    controller.sessions().is_ok_and(|sessions| sessions.iter().any(|it| it.events > 0))
}

fn check(most: u64) {
    let stage = Stage::start();
    let (problem, daemon) = stage.problem(None);
    assert_eq!(problem, None);
    let calls = daemon.calls();
    drop(daemon);
    let mut problems = Vec::new();
    for fault in faults(&calls, most) {
        if let (Some(problem), _) = stage.problem(Some(fault)) {
            let problem = format!("{}: {problem}", describe(fault));
            eprintln!("{problem}");
            problems.push(problem);
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert_eq!(stage.problem(None).0, None);
}

#[test]
fn a_session_goes_on_after_faults_or_the_daemon_reports_them() {
    check(1);
}

#[test]
#[ignore = "takes minutes"]
fn a_session_goes_on_after_a_fault_of_each_call_or_the_daemon_reports_it() {
    check(u64::MAX);
}
