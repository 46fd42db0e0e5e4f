//! Faults in a daemon, which has to continue.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
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
pub(crate) struct Resources {
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

/// The runs of a script in one daemon, but for three: a user takes 60 snapshots in a minute.
const RUNS: usize = 50;

/// What a controller does while a call fails.
pub(crate) struct Script<T> {
    /// Its requests. The directory is that of the outputs.
    pub(crate) run: fn(Controller, &Path) -> T,
    /// Returns what is wrong with the result if this fault happened, or none.
    pub(crate) problem: fn(&Path, Option<Fault>, T) -> Option<String>,
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

    /// Runs a script. Fails if that hangs.
    fn run<T: Send + 'static>(
        &self,
        run: fn(Controller, &Path) -> T,
    ) -> Result<Result<T, ControllerError>, mpsc::RecvTimeoutError> {
        let path = self.directory.path().to_owned();
        let (sender, result) = mpsc::channel();
        thread::spawn(move || {
            let controller = Controller::connect(&path.join("control.sock"));
            // The test has ended if it does not wait.
            let _ = sender.send(controller.map(|controller| run(controller, &path)));
        });
        result.recv_timeout(Duration::from_secs(60))
    }

    /// Returns what is wrong with a script in which this fault happened, or none.
    fn problem<T: Send + 'static>(
        &self,
        script: &Script<T>,
        fault: Option<Fault>,
    ) -> Option<String> {
        self.daemon.inject(fault);
        let result = self.run(script.run);
        self.daemon.inject(None);
        match result {
            Err(_) => {
                let fault = fault.map(describe);
                panic!("{fault:?}: the daemon does not reply\n{}", self.stderr())
            }
            Ok(Ok(result)) => (script.problem)(self.directory.path(), fault, result),
            Ok(Err(error)) => unexpected(fault, &error),
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

/// Returns what is wrong with an error, if it is not that of this fault.
pub(crate) fn unexpected(fault: Option<Fault>, error: &dyn std::error::Error) -> Option<String> {
    let is_fine = fault.is_some_and(|it| !it.effect.is_harmless()) && !error.to_string().is_empty();
    (!is_fine).then(|| format!("an error: {error}"))
}

/// A session whose archive is one file.
const ONE_FILE: Script<Result<Summary, ControllerError>> =
    Script { run: record, problem: problem_of_record };

fn problem_of_record(
    directory: &Path,
    fault: Option<Fault>,
    result: Result<Summary, ControllerError>,
) -> Option<String> {
    let path = directory.join("out.fxt");
    match result {
        Ok(summary) => {
            let problem = problem_of_archives(std::slice::from_ref(&path), fault, &summary);
            let _ = fs::remove_file(path);
            problem
        }
        Err(error) => unexpected(fault, &error),
    }
}

/// Returns what is wrong with the archives of a session, which are the parts of one.
pub(crate) fn problem_of_archives(
    paths: &[PathBuf],
    fault: Option<Fault>,
    summary: &Summary,
) -> Option<String> {
    let is_harmless = fault.is_none_or(|fault| fault.effect.is_harmless());
    if let Some(failure) = &summary.failure {
        let is_fine = !is_harmless && !failure.reason.is_empty();
        return (!is_fine).then(|| format!("the archive failed: {}", failure.reason));
    }
    // Panics if one is malformed.
    let archives: Vec<Archive> = paths.iter().map(|path| Archive::read(path)).collect();
    let providers = || archives.iter().flat_map(|archive| &archive.providers);
    let is_complete = providers().any(|it| it.count("word") > 0);
    if !is_complete && (is_harmless || !is_reported(summary)) {
        return Some(format!("no events: {summary:?}"));
    }
    let missing = match is_harmless {
        true => missing(providers()),
        // A program that a fault disconnects registers again, as another provider.
        false => {
            let ids: BTreeSet<u32> = providers().map(|it| it.id).collect();
            let of = |id: u32| providers().filter(move |it| it.id == id);
            ids.into_iter().map(|id| missing(of(id))).sum()
        }
    };
    (missing != 0).then(|| format!("{missing} events are missing: {summary:?}"))
}

/// Returns whether the results report that a program was not recorded.
fn is_reported(summary: &Summary) -> bool {
    let is_fine = |it: &ProviderResult| {
        it.end == EndKind::Terminated && it.answered_start && it.answered_stop
    };
    summary.refusals != 0 || !summary.providers.iter().any(is_fine)
}

/// Returns the number of events that are neither in the archive nor reported as lost.
fn missing<'a>(providers: impl Iterator<Item = &'a Provider> + Clone) -> u64 {
    let numbers: Vec<u64> = providers.clone().flat_map(|it| it.numbers("word")).collect();
    let lost: u64 = providers.flat_map(|it| it.lost.values()).sum();
    let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max()) else { return 0 };
    (last - first + 1).saturating_sub(numbers.len() as u64 + lost)
}

fn record(mut controller: Controller, directory: &Path) -> Result<Summary, ControllerError> {
    let directory = &File::open(directory).expect("the directory exists");
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
        // A user has a hundred flushes a second.
        thread::sleep(Duration::from_millis(20));
    }
}

/// Lets the calls of a script fail, each in all ways: of each kind the first `most`, and the last.
pub(crate) fn check<T: Send + 'static>(script: &Script<T>, most: u64) {
    let calls = {
        let stage = Stage::start();
        assert_eq!(stage.problem(script, None), None);
        stage.daemon.inject(None);
        stage.run(script.run).expect("the daemon replies").unwrap();
        stage.daemon.calls()
    };
    let faults = faults(&calls, most);
    let problems: Vec<String> =
        faults.chunks(RUNS).flat_map(|faults| check_some(script, faults)).collect();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// Lets these calls fail in one daemon. Returns what is wrong.
fn check_some<T: Send + 'static>(script: &Script<T>, faults: &[Fault]) -> Vec<String> {
    let stage = Stage::start();
    for _ in 0..2 {
        assert_eq!(stage.problem(script, None), None);
    }
    thread::sleep(Duration::from_millis(500));
    let before = Resources::of(stage.daemon.pid);
    let mut problems = Vec::new();
    for fault in faults {
        let problem = stage.problem(script, Some(*fault));
        assert!(stage.daemon.is_running(), "{} ends it: {}", describe(*fault), stage.stderr());
        stage.wait_registered();
        let leak = stage.leak(&before);
        let is_leaking = leak.is_some();
        for text in problem.into_iter().chain(leak) {
            let problem = format!("{}: {text}", describe(*fault));
            eprintln!("{problem}");
            problems.push(problem);
        }
        if is_leaking {
            break;
        }
    }
    let stderr = stage.stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert_eq!(stage.problem(script, None), None);
    problems
}

#[test]
fn a_daemon_survives_faults_of_its_system_calls() {
    check(&ONE_FILE, USUAL);
}

#[test]
#[ignore = "takes minutes"]
fn a_daemon_survives_a_fault_of_each_call() {
    check(&ONE_FILE, u64::MAX);
}
