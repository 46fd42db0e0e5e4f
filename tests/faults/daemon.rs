//! Faults in a daemon, which has to continue.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use trace_manager::controller::{
    Controller, ControllerError, EndKind, Output, ProviderResult, Summary, TraceConfig,
};
use trace_protocol::mode::BufferingMode;

use super::harness::{subject, trace, wait_until, Archive, Provider, PATIENCE};
use super::injector::{Fault, Injector};
use super::{describe, faults, USUAL};

/// The resources of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Resources {
    descriptors: Vec<String>,
    threads: usize,
    shared_mappings: usize,
}

impl Resources {
    fn of(pid: u32) -> Self {
        let entries = |name: &str| fs::read_dir(format!("/proc/{pid}/{name}")).unwrap();
        let links = entries("fd").filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        // The numbers of sockets and pipes differ.
        let kind = |link: String| link.split(":[").next().unwrap_or_default().to_owned();
        let mut descriptors: Vec<_> =
            links.map(|link| kind(link.to_string_lossy().into_owned())).collect();
        descriptors.sort();
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let shared_mappings = maps.lines().filter(|line| line.contains("memfd:")).count();
        Self { descriptors, threads: entries("task").count(), shared_mappings }
    }
}

/// A traced daemon, and a program that is registered with it.
struct Stage {
    directory: TempDir,
    daemon: Injector,
    program: Child,
}

impl Stage {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("manager.sock");
        let mut command = trace(&["daemon", "--socket"]);
        command.arg(&socket).arg("--dir").arg(directory.path());
        command.stderr(File::create(directory.path().join("stderr")).unwrap());
        let daemon = Injector::spawn(command, None);
        wait_until("the daemon answers", || {
            Controller::connect(&directory.path().join("control.sock"))
                .is_ok_and(|mut controller| controller.groups().is_ok())
        });
        let mut chatter = subject(&["chatter"]);
        chatter.env("TRACE_SOCKET", &socket).stdin(Stdio::piped()).stdout(Stdio::null());
        let program = chatter.spawn().unwrap();
        let stage = Self { directory, daemon, program };
        stage.wait_registered();
        stage
    }

    fn controller(&self) -> Result<Controller, ControllerError> {
        Controller::connect(&self.directory.path().join("control.sock"))
    }

    /// Waits until the program is registered, perhaps again.
    #[track_caller]
    fn wait_registered(&self) {
        wait_until("the program registers", || {
            thread::sleep(Duration::from_millis(5));
            let providers = self.controller().and_then(|mut it| it.providers());
            providers.is_ok_and(|providers| providers.len() == 1)
        });
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.directory.path().join("stderr")).unwrap()
    }

    /// Records a session, as a controller does. Fails if that hangs.
    fn record(&self) -> Result<Result<Summary, ControllerError>, mpsc::RecvTimeoutError> {
        let path = self.directory.path().to_owned();
        let (sender, result) = mpsc::channel();
        thread::spawn(move || {
            let recorded = Controller::connect(&path.join("control.sock"))
                .and_then(|it| record(it, &File::open(&path).expect("the directory exists")));
            // The test has ended if it does not wait.
            let _ = sender.send(recorded);
        });
        result.recv_timeout(Duration::from_secs(60))
    }

    /// Returns what is wrong with a session in which this fault happened.
    fn problem(&self, fault: Fault) -> Option<String> {
        let path = self.directory.path().join("out.fxt");
        let _ = fs::remove_file(&path);
        self.daemon.inject(Some(fault));
        let result = self.record();
        self.daemon.inject(None);
        match result {
            Err(_) => panic!("{}: the daemon does not reply\n{}", describe(fault), self.stderr()),
            Ok(Ok(summary @ Summary { failure: None, .. })) => {
                // Panics if it is malformed.
                let archive = Archive::read(&path);
                let is_complete = archive.providers.iter().any(|it| it.count("word") > 0);
                if !is_complete && (fault.effect.is_harmless() || !is_reported(&summary)) {
                    return Some(format!("no events: {summary:?}"));
                }
                let missing: u64 = archive.providers.iter().map(missing).sum();
                (missing != 0).then(|| format!("{missing} events are missing: {summary:?}"))
            }
            Ok(Ok(Summary { failure: Some(failure), .. })) => {
                let is_fine = !fault.effect.is_harmless() && !failure.reason.is_empty();
                (!is_fine).then(|| format!("the archive failed: {}", failure.reason))
            }
            Ok(Err(error)) => {
                let is_fine = !fault.effect.is_harmless() && !error.to_string().is_empty();
                (!is_fine).then(|| format!("the session failed: {error}"))
            }
        }
    }

    /// Waits until the daemon has its earlier resources. Returns the difference if that takes long.
    fn leak(&self, before: &Resources) -> Option<String> {
        let deadline = Instant::now() + PATIENCE / 20;
        loop {
            let now = Resources::of(self.daemon.pid);
            if now == *before {
                return None;
            }
            if Instant::now() > deadline {
                return Some(format!("leak: {before:?} before, {now:?} now"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Returns whether the results report that a program was not recorded.
fn is_reported(summary: &Summary) -> bool {
    let is_fine = |it: &ProviderResult| {
        it.end == EndKind::Terminated && it.answered_start && it.answered_stop
    };
    summary.refusals != 0 || !summary.providers.iter().any(is_fine)
}

/// Returns the number of events that are neither in the archive nor reported as lost.
fn missing(provider: &Provider) -> u64 {
    let numbers = provider.numbers("word");
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return 0 };
    (last - first + 1).saturating_sub(numbers.len() as u64 + provider.lost.values().sum::<u64>())
}

fn record(mut controller: Controller, directory: &File) -> Result<Summary, ControllerError> {
    controller.providers()?;
    controller.known_categories()?;
    let config = TraceConfig {
        mode: BufferingMode::Streaming,
        buffer_size: 256 << 10,
        start_timeout: Duration::from_secs(1),
        stop_timeout: Duration::from_secs(1),
        output: Output::Beneath("out.fxt".to_owned()),
        ..TraceConfig::default()
    };
    let name = controller.initialize(&config, directory)?;
    controller.start(&name)?;
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        controller.flush(&name)?;
        let has_events = controller.statistics(&name)?.iter().any(|it| it.events > 0);
        if has_events || Instant::now() > deadline {
            return controller.stop(&name);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn check(most: u64) {
    let stage = Stage::start();
    for _ in 0..2 {
        let summary = stage.record().expect("the daemon replies").unwrap();
        assert_eq!(summary.failure, None);
    }
    thread::sleep(Duration::from_millis(500));
    let before = Resources::of(stage.daemon.pid);
    stage.daemon.inject(None);
    stage.record().expect("the daemon replies").unwrap();
    let calls = stage.daemon.calls();
    let mut problems = Vec::new();
    for fault in faults(&calls, most) {
        let problem = stage.problem(fault);
        assert!(stage.daemon.is_running(), "{} ends it: {}", describe(fault), stage.stderr());
        stage.wait_registered();
        let leak = stage.leak(&before);
        let is_leaking = leak.is_some();
        for text in problem.into_iter().chain(leak) {
            let problem = format!("{}: {text}", describe(fault));
            eprintln!("{problem}");
            problems.push(problem);
        }
        if is_leaking {
            break;
        }
    }
    let stderr = stage.stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    let summary = stage.record().expect("the daemon replies").unwrap();
    assert_eq!(summary.failure, None);
}

#[test]
fn a_daemon_survives_faults_of_its_system_calls() {
    check(USUAL);
}

#[test]
#[ignore = "takes minutes"]
fn a_daemon_survives_a_fault_of_each_call() {
    check(u64::MAX);
}
