//! Daemons and the programs that they record.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;
use trace_manager::controller::{Controller, TraceConfig};

use crate::harness::{subject, trace, wait_until, Run};

/// The daemon accepts 1000 requests of a user in a second.
pub(crate) const BETWEEN_REQUESTS: std::time::Duration = std::time::Duration::from_millis(20);

/// A daemon in a directory of its own. It is killed when this is dropped.
pub(crate) struct Daemon {
    pub(crate) directory: TempDir,
    pub(crate) child: Child,
}

impl Daemon {
    /// Starts a daemon, and waits until it answers.
    pub(crate) fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), &[])
    }

    /// Starts a daemon with the configuration `daemon.toml`.
    pub(crate) fn with_config(config: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daemon.toml");
        std::fs::write(&path, config).unwrap();
        Self::start_in(directory, &["--config", path.to_str().unwrap()])
    }

    /// Starts a daemon in this directory, with further options.
    pub(crate) fn start_in(directory: TempDir, options: &[&str]) -> Self {
        let mut daemon = trace(&["daemon", "--socket"]);
        daemon.arg(directory.path().join("manager.sock")).arg("--dir").arg(directory.path());
        let child = daemon.args(options).stderr(Stdio::null()).spawn().unwrap();
        let daemon = Self { directory, child };
        wait_until("the daemon answers", || {
            let controller = Controller::connect(&daemon.path("control.sock"));
            controller.is_ok_and(|mut controller| controller.groups().is_ok())
        });
        daemon
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn controller(&self) -> Controller {
        Controller::connect(&self.path("control.sock")).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Stops the process, as a debugger does, and waits until all of its threads have stopped.
    #[track_caller]
    #[allow(dead_code, reason = "some programs of tests stop no daemon")]
    pub(crate) fn freeze(&self) {
        self.signal(Signal::Stop);
        let tasks = format!("/proc/{}/task", self.child.id());
        let has_stopped = |task: std::fs::DirEntry| {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            status.contains("State:\tT")
        };
        wait_until("the daemon has stopped", || {
            std::fs::read_dir(&tasks).unwrap().all(|task| has_stopped(task.unwrap()))
        });
    }

    /// Runs `trace` with the daemon's socket.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = trace(arguments);
        command.arg("--socket").arg(self.path("manager.sock"));
        Run::of(command.current_dir(self.directory.path()))
    }

    /// Runs `trace` with `--json`, which must succeed.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code(), 0, "{run:?}");
        serde_json::from_str(&run.stdout()).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }

    /// Starts a program that records until its standard input is closed.
    pub(crate) fn program(&self, role: &str) -> Program {
        Program::start(subject(&[role]).env("TRACE_SOCKET", self.path("manager.sock")))
    }

    /// Waits until so many programs have registered.
    #[track_caller]
    pub(crate) fn wait_for_programs(&self, number: usize) {
        wait_until("the programs register", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            self.controller().providers().unwrap().len() == number
        });
    }

    /// Waits until a session has recorded an event of each of so many programs.
    #[track_caller]
    pub(crate) fn wait_for_events(&self, session: &str, programs: usize) {
        wait_until("events are recorded", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            let mut controller = self.controller();
            controller.flush(session).unwrap();
            let statistics = controller.statistics(session).unwrap();
            let living = statistics.iter().filter(|provider| provider.end.is_none());
            living.filter(|provider| provider.events > 0).count() >= programs
        });
    }

    /// Waits for the daemon's end. Returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let child = &mut self.child;
        wait_until("the daemon ends", || child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A traced program.
pub(crate) struct Program(Child);

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }

    pub(crate) fn pid(&self) -> u64 {
        u64::from(self.0.id())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The configuration of a session in streaming mode.
pub(crate) fn streaming(name: &str) -> TraceConfig {
    TraceConfig {
        name: name.to_owned(),
        mode: trace_protocol::mode::BufferingMode::Streaming,
        buffer_size: 1 << 20,
        ..TraceConfig::default()
    }
}
