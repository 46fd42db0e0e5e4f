//! A daemon on a machine with more work than processors: its archives report all missing events.
//!
//! Busy threads would delay other tests, so these have a program of their own.

#[path = "../harness/daemon.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod daemon;
#[path = "../harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod harness;
#[path = "../harness/numbered.rs"]
mod numbered;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trace_manager::controller::{Controller, Output, StartRequest, TraceConfig};

use daemon::{streaming, Daemon, Program, BETWEEN_REQUESTS};
use harness::{subject, trace, wait_until};
use numbered::Content;

/// The programs, and the microseconds between two bursts of their events.
const PROGRAMS: [u64; 6] = [20_000, 5_000, 1_000, 1_000, 200, 50];

/// Threads that keep all processors busy, until this is dropped.
struct Load {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn new(number: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let work = || {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..number).map(|_| work()).collect();
        Self { ends, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// A daemon and its programs.
struct Site {
    daemon: Daemon,
    programs: Vec<(PathBuf, Program)>,
    sessions: u64,
    events: u64,
    lost: u64,
    reports: usize,
}

impl Site {
    fn start() -> Self {
        let daemon = Daemon::start();
        let start = |(number, pause): (usize, u64)| {
            let numbers = daemon.path(&format!("{number}.numbers"));
            let mut command = subject(&["publish", &number.to_string()]);
            command.arg(&numbers).arg(pause.to_string());
            command.env("TRACE_SOCKET", daemon.path("manager.sock"));
            let program = Program::start(&mut command);
            (numbers, program)
        };
        let programs = PROGRAMS.into_iter().enumerate().map(start).collect();
        daemon.wait_for_programs(PROGRAMS.len());
        Self { daemon, programs, sessions: 0, events: 0, lost: 0, reports: 0 }
    }

    /// Returns the number of events of each program so far.
    fn published(&self) -> BTreeMap<u64, u64> {
        let number = |path| u64::from_le_bytes(fs::read(path).unwrap().try_into().unwrap());
        (0..).zip(self.programs.iter().map(|(path, _)| number(path))).collect()
    }

    /// Returns the number of the first event of each program that the sessions have which record
    /// all programs now. The event before it may be under way.
    fn started(&self) -> BTreeMap<u64, u64> {
        self.published().into_iter().map(|(program, number)| (program, number + 1)).collect()
    }

    /// Checks that an archive has the events from those of `started` on, up to those of
    /// `published`.
    #[track_caller]
    fn check(&mut self, name: &str, started: &BTreeMap<u64, u64>, published: &BTreeMap<u64, u64>) {
        let path = self.daemon.path(name);
        let mut content = Content::default();
        content.add(&path);
        self.sessions += 1;
        self.events += content.events;
        self.lost += content.lost;
        self.reports += content.reports();
        let errors = content.errors(&numbered::expected(started, published));
        if !errors.is_empty() {
            let kept = std::env::temp_dir().join(format!("overload-{name}"));
            fs::copy(path, &kept).unwrap();
            panic!("{} is kept:\n{}", kept.display(), errors.join("\n"));
        }
        fs::remove_file(path).unwrap();
    }

    /// Waits until each program has recorded further events than those before `started`.
    fn wait_for_further_events(&self, started: &BTreeMap<u64, u64>) {
        wait_until("events are recorded", || {
            let published = self.published();
            published.iter().all(|(program, number)| *number > started[program])
        });
    }

    /// Records all programs until the client of the session is killed. Programs have so many
    /// milliseconds to reply to the stop.
    fn kill_client(&mut self, patience: u64) {
        let mut record = trace(&["record", "--attach", "all", "-b", "64K", "-o", "killed.fxt"]);
        record.args(["--stop-timeout", &format!("{patience}ms")]);
        record.arg("--socket").arg(self.daemon.path("manager.sock"));
        record.current_dir(self.daemon.path("")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut client = record.spawn().unwrap();
        let name = format!("record-{}", client.id());
        let mut controller = self.daemon.controller();
        wait_until("the session records", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            let sessions = controller.sessions().unwrap();
            sessions.iter().any(|it| it.name == name && it.providers as usize >= PROGRAMS.len())
        });
        self.daemon.wait_for_events(&name, PROGRAMS.len());
        let started = self.started();
        self.wait_for_further_events(&started);
        let published = self.published();
        client.kill().unwrap();
        client.wait().unwrap();
        wait_until("the session ends", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            controller.sessions().unwrap().iter().all(|it| it.name != name)
        });
        self.check("killed.fxt", &started, &published);
    }

    /// Records all programs until the session is stopped, or paused, started again and stopped.
    fn run_session(&mut self, controller: &mut Controller, patience: u64, pauses: bool) {
        let config = TraceConfig {
            buffer_size: 64 << 10,
            stop_timeout: Duration::from_millis(patience),
            ..streaming("short")
        };
        let output = File::create(self.daemon.path("short.fxt")).unwrap();
        let name = controller.initialize(&config, &output).unwrap();
        controller.start(&name).unwrap();
        self.daemon.wait_for_events(&name, PROGRAMS.len());
        let started = self.started();
        self.wait_for_further_events(&started);
        if pauses {
            controller.pause(&name).unwrap();
            let session = name.clone();
            controller.start_with(StartRequest { session, ..StartRequest::default() }).unwrap();
            self.wait_for_further_events(&self.started());
        }
        let published = self.published();
        controller.stop(&name).unwrap();
        self.check("short.fxt", &started, &published);
    }

    /// Takes a snapshot of the session `flight`, which has the events from those of `started` on.
    fn take_snapshot(&mut self, controller: &mut Controller, started: &BTreeMap<u64, u64>) {
        let published = self.published();
        let output = File::create(self.daemon.path("snapshot.fxt")).unwrap();
        controller.snapshot("flight", Output::Descriptor, &output).unwrap();
        self.check("snapshot.fxt", started, &published);
    }
}

/// Runs rounds beside so many busy threads as long as `continues` holds for the number of rounds.
fn stress(threads: usize, continues: impl Fn(u64) -> bool) {
    let mut site = Site::start();
    let mut controller = site.daemon.controller();
    let _load = Load::new(threads);
    let mut round = 0;
    while continues(round) {
        let shared = (round % 2 == 0).then(|| {
            let flight = ["start", "--name", "flight", "-o", "flight.fxt", "-b", "256K"];
            site.daemon.json(&flight);
            site.daemon.wait_for_events("flight", PROGRAMS.len());
            site.started()
        });
        for patience in [1, 30, 5_000] {
            site.kill_client(patience);
            site.run_session(&mut controller, patience, false);
            if patience == 5_000 {
                site.run_session(&mut controller, patience, true);
            }
        }
        if let Some(started) = shared {
            site.take_snapshot(&mut controller, &started);
            let published = site.published();
            site.daemon.json(&["stop", "flight"]);
            site.check("flight.fxt", &started, &published);
        }
        round += 1;
        let Site { sessions, events, lost, reports, .. } = &site;
        eprintln!(
            "{round} rounds, {sessions} archives, {events} events, {lost} lost, {reports} reports"
        );
    }
}

#[test]
fn missing_events_are_reported_on_a_busy_machine() {
    stress(4, |round| round < 2);
}

/// Run it with `--release -- --ignored --nocapture`, which prints the figures. `SOAK_MINUTES` is
/// the time, and `SOAK_THREADS` the number of busy threads.
#[test]
#[ignore = "takes minutes"]
fn missing_events_are_reported_on_a_busy_machine_for_minutes() {
    let number = |name, default| std::env::var(name).map_or(default, |it| it.parse().unwrap());
    let (begin, time) = (Instant::now(), Duration::from_secs(60 * number("SOAK_MINUTES", 5)));
    stress(number("SOAK_THREADS", 16) as usize, |_| begin.elapsed() < time);
}
