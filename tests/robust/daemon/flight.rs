//! A flight recorder that is on while other sessions record the same program: its mode changes
//! without an interruption.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::*;
use crate::harness::{Archive, Provider, Shape};

/// The number of counting threads.
const THREADS: u64 = 2;

/// A program whose threads count, in instants and in scopes, and publish the numbers.
struct Counter {
    child: Child,
    numbers: File,
}

impl Counter {
    fn start(daemon: &Daemon) -> Self {
        let path = daemon.path("numbers");
        let mut program = subject(&["count"]);
        program.arg(&path).arg(THREADS.to_string());
        let child = program.env("TRACE_SOCKET", daemon.path("manager.sock")).spawn().unwrap();
        wait_until("the program counts", || path.exists());
        daemon.wait_for_programs(1);
        Self { child, numbers: File::open(path).unwrap() }
    }

    fn pid(&self) -> u64 {
        u64::from(self.child.id())
    }

    /// Returns the number of instants that a thread has recorded.
    fn published(&self, thread: u64) -> u64 {
        let mut number = [0; 8];
        // A thread has the numbers of begun scopes, of instants, and of ended scopes.
        self.numbers
            .read_exact_at(&mut number, (thread * 3 + 1) * 8)
            .map_or(0, |()| u64::from_le_bytes(number))
    }

    /// Waits until each thread has counted further.
    fn count(&self, further: u64) {
        let until = [0, 1].map(|thread| self.published(thread) + further);
        wait_until("the program counts", || {
            std::thread::sleep(Duration::from_millis(1));
            (0..THREADS).all(|thread| self.published(thread) >= until[thread as usize])
        });
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The numbers of a thread in an archive, counted without the tools of the tracing system.
struct Numbers {
    instants: Vec<u64>,
    /// Those of scopes that have their begin.
    scopes: Vec<u64>,
    begins: usize,
    ends: usize,
    /// Records that the archive reports as dropped.
    lost: u64,
}

impl Numbers {
    fn of(program: &Provider, thread: u64) -> Self {
        let own = |name: &str| {
            let events = program.events.iter().filter(|it| it.name == name);
            events.filter(|it| it.numbers.get("thread") == Some(&thread)).collect::<Vec<_>>()
        };
        let numbers = |name| own(name).iter().map(|it| it.numbers["number"]).collect::<Vec<_>>();
        let koid = own("instant").first().map(|it| it.thread);
        let of_thread = program.events.iter().filter(|it| Some(it.thread) == koid);
        let of_scopes: Vec<_> = of_thread.filter(|it| it.name == "scope").collect();
        let of = |shape: Shape| of_scopes.iter().filter(|it| it.shape == shape).count();
        let (begins, ends) = (of(Shape::Begin), of(Shape::End));
        let lost = program.lost.values().sum();
        Self { instants: numbers("instant"), scopes: numbers("scope"), begins, ends, lost }
    }

    /// Checks that each number is there once, but for those of dropped records.
    fn check(&self, context: &str) {
        for numbers in [&self.instants, &self.scopes] {
            assert!(numbers.len() > 100, "{context}: {}", numbers.len());
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{context}: twice");
            let missing = numbers.windows(2).map(|pair| pair[1] - pair[0] - 1).sum::<u64>();
            assert!(missing <= self.lost, "{context}: {missing} are missing, {} lost", self.lost);
        }
        // One is open at the end, and the begin of one is before the records of the session.
        let open = self.begins as i64 - self.ends as i64;
        let most = 1 + self.lost as i64;
        assert!((-most..=most).contains(&open), "{context}: {open} scopes are open");
    }
}

fn check(archive: &Archive, pid: u64, context: &str) -> [Numbers; THREADS as usize] {
    let of_program = archive.providers.iter().filter(|it| it.pid == pid).count();
    assert_eq!(of_program, 1, "{context}: it has one buffer");
    let program = archive.of_process(pid).unwrap();
    assert_eq!(program.interruptions, [], "{context}");
    [0, 1].map(|thread| {
        let numbers = Numbers::of(program, thread);
        numbers.check(context);
        numbers
    })
}

const FLIGHT: [&str; 11] = [
    "start",
    "--name",
    "flight",
    "-m",
    "circular",
    "-b",
    "256K",
    "-c",
    "count",
    "-o",
    "flight.fxt",
];

#[test]
fn a_flight_recorder_is_not_interrupted_by_other_sessions() {
    let daemon = Daemon::start();
    let counter = Counter::start(&daemon);
    daemon.json(&FLIGHT);
    // The circular buffer goes round more than once.
    counter.count(6000);
    daemon.json(&["start", "--name", "second", "-c", "count", "-o", "second.fxt"]);
    let joined = [0, 1].map(|thread| counter.published(thread));
    daemon.json(&["snapshot", "flight", "-o", "snapshot.fxt"]);
    counter.count(3000);
    daemon.json(&["start", "--name", "third", "-m", "oneshot", "-c", "other", "-o", "third.fxt"]);
    let leaving = [0, 1].map(|thread| counter.published(thread));
    daemon.json(&["stop", "second"]);
    counter.count(1000);
    let last = [0, 1].map(|thread| counter.published(thread));
    let summary = daemon.json(&["stop", "flight"]);
    assert!(summary["providers"][0]["buffers_overwritten"].as_u64().unwrap() > 0, "{summary}");
    let archive = |name: &str| Archive::read(&daemon.path(name));
    check(&archive("snapshot.fxt"), counter.pid(), "snapshot");
    let flight = check(&archive("flight.fxt"), counter.pid(), "flight");
    for (found, last) in flight.iter().zip(last) {
        assert!(*found.instants.last().unwrap() + 1 + found.lost >= last);
    }
    let second = check(&archive("second.fxt"), counter.pid(), "second");
    for (thread, found) in second.iter().enumerate() {
        let (joined, leaving) = (joined[thread], leaving[thread]);
        let [first, .., last] = found.instants[..] else { panic!("it records {thread}") };
        assert!(first <= joined + found.lost && last + 1 + found.lost >= leaving, "{thread}");
    }
}

/// The daemon gets the records in blocks that are larger than what the session keeps.
#[test]
fn a_flight_recorder_beside_a_session_of_larger_buffers_keeps_its_own_size() {
    let daemon = Daemon::start();
    let counter = Counter::start(&daemon);
    daemon.json(&[
        "start",
        "--name",
        "large",
        "-m",
        "streaming",
        "-b",
        "16M",
        "-c",
        "count",
        "-o",
        "large.fxt",
    ]);
    daemon.json(&FLIGHT);
    counter.count(6000);
    // Each change ends a block.
    daemon.controller().flush("flight").unwrap();
    counter.count(100);
    daemon.json(&["categories", "large", "--add", "other"]);
    daemon.controller().flush("flight").unwrap();
    counter.count(10);
    let least = [0, 1].map(|thread| counter.published(thread));
    daemon.json(&["snapshot", "flight", "-o", "snapshot.fxt"]);
    let summary = daemon.json(&["stop", "flight"]);
    assert!(summary["providers"][0]["buffers_overwritten"].as_u64().unwrap() > 0, "{summary}");
    for name in ["snapshot.fxt", "flight.fxt"] {
        let archive = Archive::read(&daemon.path(name));
        let found = check(&archive, counter.pid(), name);
        for (found, least) in found.iter().zip(least) {
            let last = *found.instants.last().unwrap();
            assert!(last + 1 + found.lost >= least, "{name}: {last} of {least}");
        }
        // An instant and a scope have 104 bytes.
        let number = found.iter().map(|it| it.instants.len()).sum::<usize>();
        assert!(number >= (256 << 10) / 104 * 3 / 4, "{name}: {number} instants");
    }
    let size = std::fs::metadata(daemon.path("flight.fxt")).unwrap().len();
    assert!(size < 320 << 10, "it keeps 256 KiB, and names: {size}");
}

/// The daemon is killed around the change. The guard's archive has every committed record.
#[test]
fn a_killed_daemon_loses_nothing_of_a_flight_recorder_that_is_joined() {
    for delay in [0, 4, 8, 15, 40] {
        let mut daemon = Daemon::start();
        let counter = Counter::start(&daemon);
        daemon.json(&FLIGHT);
        counter.count(5000);
        let mut join = trace(&["start", "--name", "second", "-c", "count", "-o", "second.fxt"]);
        join.arg("--socket").arg(daemon.path("manager.sock")).current_dir(&daemon.directory);
        let mut join = join.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let committed = [0, 1].map(|thread| counter.published(thread));
        daemon.signal(Signal::Kill);
        assert_eq!(daemon.wait(), None);
        let _code = join.wait().unwrap();
        wait_until("the guard completes the archive", || daemon.path("flight.fxt").exists());
        let context = format!("after {delay} ms");
        let archive = Archive::read(&daemon.path("flight.fxt"));
        let found = check(&archive, counter.pid(), &context);
        for (found, committed) in found.iter().zip(committed) {
            let last = *found.instants.last().unwrap();
            assert!(last + 1 + found.lost >= committed, "{context}: {last} of {committed}");
        }
    }
}
