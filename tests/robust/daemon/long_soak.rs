//! A daemon that serves programs, sessions and kills for as long as one likes: no event is missing
//! without a report, and what it takes is given back.
//!
//! Each program records numbered events, and stores in a file how many. All archives are compared
//! with these numbers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::time::{Duration, Instant};

use trace_manager::controller::{Output, StartRequest};

use super::numbered::{self, Content};
use super::soak::{Usage, NOISE};
use super::*;

/// The shortest time of a round: a user takes at most 60 snapshots in a minute.
const ROUND: Duration = Duration::from_millis(1_100);

/// The time between two bursts of events of a program, in microseconds.
const PAUSE: &str = "20000";

/// What was done and found.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    rounds: u64,
    sessions: u64,
    snapshots: u64,
    archives: u64,
    events: u64,
    /// Records that were dropped, as the archives report.
    lost: u64,
    /// Gaps that the archives report.
    reports: usize,
    killed_programs: u64,
    killed_clients: u64,
    killed_daemons: u64,
}

/// A program, with the number that its events have.
struct Member {
    number: u64,
    numbers: PathBuf,
    program: Program,
}

impl Member {
    /// Returns how many events it has recorded.
    fn published(&self) -> u64 {
        published(&self.numbers)
    }
}

fn published(path: &std::path::Path) -> u64 {
    u64::from_le_bytes(fs::read(path).unwrap().try_into().unwrap())
}

/// A daemon and its programs.
struct Site {
    daemon: Daemon,
    members: Vec<Member>,
    /// The number of programs that were started.
    started: u64,
    tally: Tally,
    /// The events of killed programs.
    killed: BTreeMap<u64, u64>,
    /// The first events that the session `parts` has of each program.
    parts: BTreeMap<u64, u64>,
}

impl Site {
    fn start(programs: usize) -> Self {
        let daemon = Daemon::start();
        let (members, tally) = (Vec::new(), Tally::default());
        let (killed, parts) = Default::default();
        let mut site = Self { daemon, members, started: 0, tally, killed, parts };
        for _ in 0..programs {
            let member = site.start_program();
            site.members.push(member);
        }
        site.wait_for_all();
        site
    }

    fn start_program(&mut self) -> Member {
        let number = self.started;
        self.started += 1;
        let numbers = self.daemon.path(&format!("{number}.numbers"));
        let mut command = subject(&["publish", &number.to_string()]);
        command.arg(&numbers).arg(PAUSE).env("TRACE_SOCKET", self.daemon.path("manager.sock"));
        Member { number, program: Program::start(&mut command), numbers }
    }

    fn wait_for_all(&self) {
        self.daemon.wait_for_programs(self.members.len());
    }

    fn wait_for_events(&self, session: &str) {
        self.daemon.wait_for_events(session, self.members.len());
    }

    /// Returns the number of events of each program so far.
    fn published(&self) -> BTreeMap<u64, u64> {
        self.members.iter().map(|member| (member.number, member.published())).collect()
    }

    /// Returns the number of the first event of each program that the sessions have which record
    /// all programs now. The event before it may be under way.
    fn first_events(&self) -> BTreeMap<u64, u64> {
        self.published().into_iter().map(|(program, number)| (program, number + 1)).collect()
    }

    /// Checks that archives, parts of one session, have each program's events from those of
    /// `started` up to those that were published, or report the missing ones. Removes the
    /// archives; keeps them if they have errors.
    ///
    /// # Panics
    ///
    /// If they have errors.
    #[track_caller]
    fn check_all(
        &mut self,
        names: &[String],
        started: &BTreeMap<u64, u64>,
        published: &BTreeMap<u64, u64>,
    ) {
        let mut content = Content::default();
        let paths: Vec<PathBuf> = names.iter().map(|name| self.daemon.path(name)).collect();
        paths.iter().for_each(|path| content.add(path));
        self.tally.archives += paths.len() as u64;
        self.tally.events += content.events;
        self.tally.lost += content.lost;
        self.tally.reports += content.reports();
        let errors = content.errors(&numbered::expected(started, published));
        if !errors.is_empty() {
            let kept = std::env::temp_dir().join(format!("soak-{}", std::process::id()));
            fs::create_dir_all(&kept).unwrap();
            for (name, path) in names.iter().zip(&paths) {
                fs::copy(path, kept.join(name)).unwrap();
            }
            panic!("the archives {names:?} are kept in {}:\n{}", kept.display(), errors.join("\n"));
        }
        paths.iter().for_each(|path| fs::remove_file(path).unwrap());
    }

    #[track_caller]
    fn check(&mut self, name: &str, started: &BTreeMap<u64, u64>, published: &BTreeMap<u64, u64>) {
        self.check_all(&[name.to_owned()], started, published);
    }

    /// Starts the two sessions that continue in all rounds.
    fn start_sessions(&mut self) {
        let parts = ["start", "--name", "parts", "-o", "parts.fxt", "-b", "256K", "--rotate", "2s"];
        self.daemon.json(&parts);
        let flight = ["start", "--name", "flight", "-o", "flight.fxt", "-b", "64K", "-m"];
        self.daemon.json(&[&flight[..], &["circular"]].concat());
        self.tally.sessions += 2;
        self.wait_for_events("parts");
        self.parts = self.first_events();
        self.wait_for_events("flight");
    }

    fn stop_sessions(&mut self) {
        let published = self.published();
        for name in ["flight", "parts"] {
            let summary = self.daemon.json(&["stop", name]);
            assert_eq!(summary["error"], Value::Null);
        }
        // Older events are overwritten.
        self.check("flight.fxt", &BTreeMap::new(), &published);
        let (killed, started) = (std::mem::take(&mut self.killed), std::mem::take(&mut self.parts));
        let names = self.names_of_parts();
        self.check_all(&names, &started, &published.into_iter().chain(killed).collect());
    }

    fn names_of_parts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.daemon.path("")).unwrap();
        let number = |name: String| -> Option<u64> {
            name.strip_prefix("parts.")?.strip_suffix(".fxt")?.parse().ok()
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut parts: Vec<u64> = names.filter_map(number).collect();
        parts.sort_unstable();
        parts.into_iter().map(|part| format!("parts.{part}.fxt")).collect()
    }

    /// Records all programs once, and stops in one of three ways.
    fn run_session(&mut self, controller: &mut Controller, round: u64) {
        let config = TraceConfig { buffer_size: 64 << 10, ..streaming("short") };
        let output = File::create(self.daemon.path("short.fxt")).unwrap();
        let name = controller.initialize(&config, &output).unwrap();
        controller.start(&name).unwrap();
        self.wait_for_events(&name);
        let started = self.first_events();
        self.tally.sessions += 1;
        match round % 3 {
            0 => drop(controller.abort(&name).unwrap()),
            1 => self.stop_session(controller, &name, &started),
            _ => {
                controller.pause(&name).unwrap();
                let session = name.clone();
                controller.start_with(StartRequest { session, ..StartRequest::default() }).unwrap();
                self.wait_for_further_events(&name);
                self.stop_session(controller, &name, &started);
            }
        }
    }

    /// Waits until each program has recorded more than now.
    fn wait_for_further_events(&self, session: &str) {
        let events = |site: &Self| -> Vec<u64> {
            let mut controller = site.daemon.controller();
            controller.flush(session).unwrap();
            let statistics = controller.statistics(session).unwrap();
            let living = statistics.iter().filter(|it| it.end.is_none());
            living.map(|it| it.events).collect()
        };
        let before = events(self);
        wait_until("events are recorded", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            let now = events(self);
            now.len() == before.len() && now.iter().zip(&before).all(|(now, then)| now > then)
        });
    }

    fn stop_session(
        &mut self,
        controller: &mut Controller,
        name: &str,
        started: &BTreeMap<u64, u64>,
    ) {
        let published = self.published();
        let summary = controller.stop(name).unwrap();
        assert_eq!((summary.failure, summary.refusals), (None, 0));
        self.check("short.fxt", started, &published);
    }

    fn take_snapshot(&mut self, controller: &mut Controller) {
        let published = self.published();
        let output = File::create(self.daemon.path("snapshot.fxt")).unwrap();
        controller.snapshot("flight", Output::Descriptor, &output).unwrap();
        self.tally.snapshots += 1;
        self.check("snapshot.fxt", &BTreeMap::new(), &published);
    }

    /// Kills the client of a session.
    fn kill_client(&mut self) {
        let mut record = trace(&["record", "--attach", "all", "-b", "64K", "-o", "killed.fxt"]);
        record.arg("--socket").arg(self.daemon.path("manager.sock"));
        record.current_dir(self.daemon.path("")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut client = record.spawn().unwrap();
        let name = format!("record-{}", client.id());
        let mut controller = self.daemon.controller();
        wait_until("the session records", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            let sessions = controller.sessions().unwrap();
            sessions.iter().any(|it| it.name == name && it.providers as usize >= self.members.len())
        });
        self.wait_for_events(&name);
        let (started, published) = (self.first_events(), self.published());
        client.kill().unwrap();
        client.wait().unwrap();
        wait_until("the session ends", || {
            std::thread::sleep(BETWEEN_REQUESTS);
            controller.sessions().unwrap().iter().all(|it| it.name != name)
        });
        (self.tally.sessions, self.tally.killed_clients) =
            (self.tally.sessions + 1, self.tally.killed_clients + 1);
        self.check("killed.fxt", &started, &published);
    }

    /// Kills a program, and starts another one. The first program is never killed.
    fn kill_program(&mut self, round: u64) {
        let index = 1 + round as usize % (self.members.len() - 1);
        let new = self.start_program();
        let Member { number, numbers, program } = std::mem::replace(&mut self.members[index], new);
        drop(program);
        self.killed.insert(number, published(&numbers));
        fs::remove_file(numbers).unwrap();
        self.tally.killed_programs += 1;
        self.wait_for_all();
        self.wait_for_events("parts");
        let mut started = self.first_events();
        started.append(&mut self.parts);
        self.parts = started;
        self.wait_for_events("flight");
    }

    /// Kills the daemon while a session records. Its archive is complete, and it goes on in a
    /// second one under the next daemon.
    fn kill_daemon(&mut self) {
        let kept = ["start", "--name", "kept", "-o", "kept.fxt", "-b", "256K", "--keep-alive"];
        self.daemon.json(&kept);
        self.wait_for_events("kept");
        let (started, published) = (self.first_events(), self.published());
        self.daemon.signal(Signal::Kill);
        assert_eq!(self.daemon.wait(), None);
        let empty = tempfile::tempdir().unwrap();
        let directory = std::mem::replace(&mut self.daemon.directory, empty);
        self.daemon = Daemon::start_in(directory, &[]);
        let path = self.daemon.path("kept.fxt");
        wait_until("the guard completes the archive", || path.exists());
        self.check("kept.fxt", &started, &published);
        self.wait_for_all();
        self.wait_for_events("kept");
        let (started, published) = (self.first_events(), self.published());
        let summary = self.daemon.json(&["stop", "kept"]);
        assert_eq!(summary["error"], Value::Null);
        self.check("kept.2.fxt", &started, &published);
        self.tally.sessions += 1;
        self.tally.killed_daemons += 1;
    }

    fn run_round(&mut self, controller: &mut Controller) {
        let begin = Instant::now();
        let round = self.tally.rounds;
        self.run_session(controller, round);
        self.take_snapshot(controller);
        self.kill_client();
        self.kill_program(round);
        self.tally.rounds += 1;
        std::thread::sleep(ROUND.saturating_sub(begin.elapsed()));
    }

    /// Prints what was done so far, and what the daemon and a program have.
    fn print(&self, elapsed: Duration, killed_daemons: u64, daemon: &Usage, program: &Usage) {
        let Tally { rounds, sessions, snapshots, archives, events, lost, .. } = self.tally;
        let Tally { reports, killed_programs, killed_clients, .. } = self.tally;
        eprintln!(
            "{} s: {rounds} rounds, {sessions} sessions, {snapshots} snapshots, {archives} \
             archives, {events} events, {lost} lost, {reports} reported gaps; killed: \
             {killed_programs} programs, {killed_clients} clients, {killed_daemons} daemons",
            elapsed.as_secs()
        );
        for (name, usage) in [("daemon", daemon), ("program", program)] {
            let Usage { descriptors, threads, resident, anonymous } = usage;
            eprintln!(
                "    {name}: {resident} KiB resident, {anonymous} KiB anonymous, {descriptors} \
                 descriptors, {threads} threads"
            );
        }
    }

    fn usage_of_first_program(&self) -> Usage {
        Usage::of(self.members[0].program.pid() as u32)
    }
}

/// What the daemon and a program have after some rounds.
#[derive(Debug)]
struct Sample {
    daemon: Usage,
    program: Usage,
}

/// Runs rounds, as many at a time as `rounds`, as long as `continues` holds for the number of
/// times. A second daemon, with a few programs, is killed each time. Returns what was done with
/// each.
fn soak(programs: usize, rounds: usize, continues: impl Fn(usize) -> bool) -> [Tally; 2] {
    let (mut site, mut killed) = (Site::start(programs), Site::start(5));
    let begin = Instant::now();
    let mut controller = site.daemon.controller();
    controller.groups().unwrap();
    let before = Usage::of(site.daemon.child.id());
    let mut samples: Vec<Sample> = Vec::new();
    while continues(samples.len()) {
        site.start_sessions();
        (0..rounds).for_each(|_| site.run_round(&mut controller));
        site.stop_sessions();
        killed.kill_daemon();
        let (daemon, program) = (site.daemon.settled(&before), site.usage_of_first_program());
        site.print(begin.elapsed(), killed.tally.killed_daemons, &daemon, &program);
        samples.push(Sample { daemon, program });
    }
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    for (first, last) in [(&first.daemon, &last.daemon), (&first.program, &last.program)] {
        let numbers = |usage: &Usage| (usage.descriptors, usage.threads);
        assert_eq!(numbers(first), numbers(last));
        assert!(last.anonymous <= first.anonymous + NOISE, "{first:?}, then {last:?}");
    }
    [site.tally, killed.tally]
}

/// On a busy machine, a daemon may come too late for a full buffer: then the archives report it.
#[test]
fn sessions_and_kills_lose_nothing_without_a_report() {
    soak(12, 4, |times| times < 2);
}

/// Run it with `--release -- --ignored --nocapture` on a machine without other work. It prints the
/// figures. `SOAK_MINUTES` is the time, 60 by default.
#[test]
#[ignore = "takes an hour"]
fn an_hour_of_sessions_and_kills_loses_nothing() {
    let minutes = std::env::var("SOAK_MINUTES").map_or(60, |minutes| minutes.parse().unwrap());
    let (begin, time) = (Instant::now(), Duration::from_secs(minutes * 60));
    let tallies = soak(50, 20, |times| times == 0 || begin.elapsed() < time);
    assert_eq!(tallies.map(|tally| tally.lost), [0, 0]);
}
