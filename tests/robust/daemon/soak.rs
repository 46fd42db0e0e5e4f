//! Many sessions of many programs, one after another: what they take is given back.

use std::fs::{self, File};

use trace_manager::controller::{SessionState as S, StartRequest};
use trace_provider::Provider;

use super::sessions::states_of;
use super::*;

/// Sessions that record at the same time.
const SESSIONS: usize = 8;

/// The growth in KiB that memory may have. The allocator keeps some of what is freed.
pub(super) const NOISE: u64 = 8 << 10;

/// What a process has.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) descriptors: usize,
    pub(super) threads: usize,
    /// Memory, in KiB.
    pub(super) resident: u64,
    /// Memory of its own, in KiB.
    pub(super) anonymous: u64,
}

impl Usage {
    pub(super) fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let kibibytes = |field: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
            value.trim().trim_end_matches(" kB").parse().unwrap()
        };
        let count = |name: &str| fs::read_dir(format!("/proc/{pid}/{name}")).unwrap().count();
        let (resident, anonymous) = (kibibytes("VmRSS:"), kibibytes("RssAnon:"));
        Self { descriptors: count("fd"), threads: count("task"), resident, anonymous }
    }
}

impl Daemon {
    /// Starts sessions that record at the same time, and stops them. Each has all programs. The
    /// first one also stops and starts again.
    fn start_and_stop_sessions(&self, controller: &mut Controller, programs: usize) {
        let name = |number: usize| format!("s{number}");
        for number in 0..SESSIONS {
            std::thread::sleep(BETWEEN_REQUESTS);
            let categories = vec![format!("category{number}")];
            let config = TraceConfig { buffer_size: 64 << 10, ..streaming(&name(number)) };
            let output = File::create(self.path(&format!("s{number}.fxt"))).unwrap();
            controller.initialize(&TraceConfig { categories, ..config }, &output).unwrap();
            controller.start(&name(number)).unwrap();
        }
        controller.pause(&name(0)).unwrap();
        let start = StartRequest { session: name(0), ..StartRequest::default() };
        controller.start_with(start).unwrap();
        for number in 0..SESSIONS {
            std::thread::sleep(BETWEEN_REQUESTS);
            let summary = controller.stop(&name(number)).unwrap();
            assert_eq!((summary.failure, summary.refusals), (None, 0));
            assert_eq!(summary.providers.len(), programs, "session {number}");
        }
    }

    /// Waits until the daemon has as many descriptors and threads as before. Guards and threads of
    /// ended sessions may take a moment.
    pub(super) fn settled(&self, before: &Usage) -> Usage {
        let usage = || Usage::of(self.child.id());
        let numbers = |usage: &Usage| (usage.descriptors, usage.threads);
        wait_until("descriptors and threads are given back", || {
            numbers(&usage()) == numbers(before)
        });
        usage()
    }
}

/// Starts and stops sessions of so many programs in rounds. The daemon has at the end what it had
/// before, and as much memory as after the first round.
fn soak(programs: usize, rounds: usize) {
    let daemon = Daemon::start();
    let socket = daemon.path("manager.sock");
    let connect = |number| Provider::builder(format!("p{number}")).socket(&socket).connect();
    let providers: Vec<_> = (0..programs).map(|number| connect(number).unwrap()).collect();
    daemon.wait_for_programs(programs);
    let mut controller = daemon.controller();
    controller.groups().unwrap();
    let before = Usage::of(daemon.child.id());
    daemon.start_and_stop_sessions(&mut controller, programs);
    let first = daemon.settled(&before);
    for _ in 1..rounds {
        daemon.start_and_stop_sessions(&mut controller, programs);
    }
    let last = daemon.settled(&before);
    eprintln!("{programs} programs, {} sessions: {first:?}, then {last:?}", rounds * SESSIONS);
    assert!(last.anonymous <= first.anonymous + NOISE, "{first:?}, then {last:?}");
    drop(providers);
    daemon.wait_for_programs(0);
}

#[test]
fn sessions_of_many_programs_take_nothing_that_stays() {
    soak(20, 6);
}

/// Run it with `--release -- --ignored --nocapture`, which prints the figures.
#[test]
#[ignore = "takes minutes"]
fn a_thousand_sessions_of_two_hundred_programs_take_nothing_that_stays() {
    soak(200, 125);
}

/// The number of a session, which determines its life.
type Life = usize;

impl Daemon {
    /// Starts sessions one after another, and ends each in one of five ways.
    fn run_short_sessions(&self, controller: &mut Controller, lives: std::ops::Range<Life>) {
        for life in lives {
            match life % 5 {
                2 => self.run_killed_session(controller, false),
                3 => self.run_killed_session(controller, true),
                _ => self.run_short_session(controller, life),
            }
        }
    }

    /// Starts a session, stops or aborts it, and stops and starts some again before.
    fn run_short_session(&self, controller: &mut Controller, life: Life) {
        let config = TraceConfig { buffer_size: 64 << 10, ..streaming("short") };
        let output = File::create(self.path("short.fxt")).unwrap();
        let name = controller.initialize(&config, &output).unwrap();
        controller.start(&name).unwrap();
        if life % 5 == 1 {
            controller.pause(&name).unwrap();
        }
        // A user starts at most 60 stopped sessions in a minute.
        if life % 20 == 1 {
            let session = name.clone();
            controller.start_with(StartRequest { session, ..StartRequest::default() }).unwrap();
        }
        let summary = match life % 5 {
            4 => controller.abort(&name).unwrap().unwrap(),
            _ => controller.stop(&name).unwrap(),
        };
        assert_eq!((summary.failure, summary.refusals), (None, 0), "session {life}");
    }

    /// Kills the client of a session, which ends with it. Stops the session before, if it is to be
    /// paused.
    fn run_killed_session(&self, controller: &mut Controller, is_paused: bool) {
        let mut record = trace(&["record", "--attach", "all", "-b", "64K", "-o", "killed.fxt"]);
        record.arg("--socket").arg(self.path("manager.sock")).current_dir(self.path(""));
        let mut client = record.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let name = format!("record-{}", client.id());
        wait_until("the session records", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            let sessions = controller.sessions().unwrap();
            sessions.iter().any(|it| it.name == name && it.state == S::Started)
        });
        if is_paused {
            controller.pause(&name).unwrap();
        }
        controller.watch(&name).unwrap();
        client.kill().unwrap();
        client.wait().unwrap();
        let states = states_of(controller);
        assert_eq!(states[1..], [S::Stopping, S::Stopped, S::Terminated]);
    }
}

/// Starts and ends so many sessions of a few programs, one after another. The daemon has at the end
/// what it had before, and as much memory as after the first half.
fn soak_short(sessions: usize) {
    let daemon = Daemon::start();
    let socket = daemon.path("manager.sock");
    let connect = |number| Provider::builder(format!("p{number}")).socket(&socket).connect();
    let _providers: Vec<_> = (0..3).map(|number| connect(number).unwrap()).collect();
    daemon.wait_for_programs(3);
    let mut controller = daemon.controller();
    controller.groups().unwrap();
    let before = Usage::of(daemon.child.id());
    daemon.run_short_sessions(&mut controller, 0..sessions / 2);
    let first = daemon.settled(&before);
    daemon.run_short_sessions(&mut controller, sessions / 2..sessions);
    let last = daemon.settled(&before);
    eprintln!("{sessions} short sessions: {before:?}, {first:?}, then {last:?}");
    assert!(last.anonymous <= first.anonymous + NOISE, "{first:?}, then {last:?}");
    assert_eq!(controller.sessions().unwrap().len(), 0);
}

#[test]
fn short_sessions_take_nothing_that_stays() {
    soak_short(20);
}

/// Run it with `--release -- --ignored --nocapture`, which prints the figures.
#[test]
#[ignore = "takes minutes"]
fn a_thousand_short_sessions_take_nothing_that_stays() {
    soak_short(1000);
}
