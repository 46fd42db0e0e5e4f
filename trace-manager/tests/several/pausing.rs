//! Sessions that stop and start again.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use trace_manager::GuardOutcome;
use trace_manager::{ManagerError, Notice, SessionState, Timeouts, TriggerRule};
use trace_protocol::archive::ClockSample;
use trace_protocol::message::{BufferDisposition, ClockSource, Register, ToManager};

use super::guards::{guard, start_guarded, DIRECTORY};
use super::*;
use trace_protocol::socket::{Listener, Socket};

const MODES: [BufferingMode; 3] =
    [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming];

impl Session {
    /// Stops the session, which may start again.
    fn pause(&self) {
        self.handle.pause();
        let mut notices = std::iter::from_fn(|| self.handle.next_notice(LONG));
        assert!(notices.any(|notice| notice == Notice::Stopped));
        assert_eq!(self.handle.progress().state, SessionState::Stopped);
    }

    fn start_again(&self, disposition: BufferDisposition) {
        self.handle.start_again(disposition, None).unwrap();
    }
}

/// The numbers that a program had reached when its session had stopped, and when it started again.
struct Times {
    stopped: u64,
    started: u64,
}

/// Records a program, stops the session, and records the program again.
fn pause_once(session: &Session, program: &Program, disposition: BufferDisposition) -> Times {
    program.wait_recorded();
    program.run(500);
    session.pause();
    let stopped = program.run(1);
    let started = program.run(200);
    session.start_again(disposition);
    program.wait_recorded();
    program.run(500);
    Times { stopped, started }
}

/// Checks that the archive has one gap, in which there is no event, between two with events.
fn assert_gap(archive: &Archive) {
    let [(from, to)] = archive.interruptions[..] else { panic!("{:?}", archive.interruptions) };
    assert!(from < to && archive.ticks.iter().all(|ticks| !(from..to).contains(ticks)));
    assert!(archive.ticks.iter().any(|ticks| *ticks >= to));
}

#[test]
fn records_before_and_after_a_stop_are_retained_and_the_gap_is_reported() {
    for mode in MODES {
        let stage = Stage::new();
        let session = stage.start("a.fxt", config(mode, &["a"]));
        let program = Program::start(stage.manager.path(), "one");
        let Times { stopped, started } = pause_once(&session, &program, BufferDisposition::Retain);
        let recorded = program.end();
        let (archive, summary) = session.end();
        let numbers = archive.numbers("a");
        assert_eq!(numbers, recorded["a"], "{mode:?}");
        assert!(!numbers.iter().any(|it| (stopped..started).contains(it)), "{mode:?}");
        assert!(numbers[0] < stopped && *numbers.last().unwrap() > started, "{mode:?}");
        assert_gap(&archive);
        assert_eq!((summary.lost(), summary.providers.len()), (0, 1), "{mode:?}");
        assert!(summary.providers[0].answered_start, "{mode:?}");
        let events: u64 = summary.providers.iter().map(|it| it.categories["a"]).sum();
        assert_eq!(events, numbers.len() as u64, "{mode:?}");
    }
}

/// The session has stopped when the time of the provider that never replies is over.
#[test]
fn the_gap_of_a_program_does_not_begin_when_another_one_times_out() {
    let (stage, begin) = (Stage::new(), ClockSample::now());
    let timeouts = Timeouts { stop: Duration::from_secs(1), ..Timeouts::default() };
    let config = SessionConfig { timeouts, ..config(BufferingMode::Streaming, &["a"]) };
    let session = stage.start("a.fxt", config);
    let silent = Socket::connect(stage.manager.path()).unwrap();
    silent.send(&ToManager::Register(Register::default()).encode(), &[]).unwrap();
    wait_until("it has a buffer", || session.handle.progress().joined == 1);
    let program = Program::start(stage.manager.path(), "one");
    program.wait_recorded();
    session.handle.pause();
    let mut stopping = ClockSample::now();
    wait_until("the session has stopped", || {
        let now = ClockSample::now();
        let has_stopped = session.handle.progress().state == SessionState::Stopped;
        stopping = if has_stopped { stopping } else { now };
        has_stopped
    });
    session.start_again(BufferDisposition::Retain);
    program.wait_recorded();
    program.end();
    let (archive, _) = session.end();
    assert_gap(&archive);
    let [(from, _)] = archive.interruptions[..] else { unreachable!() };
    let times = |clock| begin.ticks(clock)..=ClockSample::now().ticks(clock);
    let is_its_clock = |clock: &ClockSource| times(*clock).contains(&from);
    let clock = [ClockSource::CpuCounter, ClockSource::Boottime].into_iter().find(is_its_clock);
    assert!(from < stopping.ticks(clock.unwrap()), "the time between is missing");
}

/// In streaming mode, full buffers were read before.
#[test]
fn records_in_the_buffers_are_cleared() {
    for (mode, disposition) in MODES.into_iter().flat_map(|mode| {
        [BufferDisposition::ClearEntire, BufferDisposition::ClearNondurable].map(|it| (mode, it))
    }) {
        let stage = Stage::new();
        let session = stage.start("a.fxt", config(mode, &["a"]));
        let program = Program::start(stage.manager.path(), "one");
        let Times { stopped, started } = pause_once(&session, &program, disposition);
        let recorded = program.end();
        let (archive, summary) = session.end();
        let numbers = archive.numbers("a");
        let case = format!("{mode:?} {disposition:?}");
        let (before, after): (Vec<u64>, Vec<u64>) =
            numbers.iter().partition(|number| **number < started);
        assert!(recorded["a"].ends_with(&after) && !after.is_empty(), "{case}");
        assert!(recorded["a"].starts_with(&before), "{case}");
        let all_before = recorded["a"].iter().filter(|number| **number < stopped).count();
        assert!(before.len() < all_before, "{case}: {} of {all_before}", before.len());
        assert!(before.is_empty() || mode == BufferingMode::Streaming, "{case}");
        assert_gap(&archive);
        let events: u64 = summary.providers.iter().filter_map(|it| it.categories.get("a")).sum();
        assert_eq!(events, numbers.len() as u64, "{case}");
    }
}

#[test]
fn a_stopped_session_ends_with_all_records() {
    for mode in MODES {
        let stage = Stage::new();
        let session = stage.start("a.fxt", config(mode, &["a"]));
        let program = Program::start(stage.manager.path(), "one");
        program.wait_recorded();
        program.run(300);
        session.pause();
        // One that registers now joins at the start, and this session has none.
        let late = Program::start(stage.manager.path(), "late");
        late.run(10);
        let (recorded, of_late) = (program.end(), late.end());
        let (archive, summary) = session.end();
        assert_eq!(archive.numbers("a"), recorded["a"], "{mode:?}");
        assert!(of_late.is_empty() && summary.providers.len() == 1, "{mode:?}");
        assert!(archive.interruptions.is_empty());
    }
}

/// The provider continues for the second session, which nothing interrupts.
#[test]
fn a_stop_of_one_session_does_not_affect_another() {
    for mode in MODES {
        let stage = Stage::new();
        let other = stage.start("b.fxt", config(BufferingMode::Streaming, &["b"]));
        let program = Program::start(stage.manager.path(), "one");
        program.wait_recorded();
        let session = stage.start("a.fxt", config(mode, &["a"]));
        session.wait_started();
        let Times { stopped, started } = pause_once(&session, &program, BufferDisposition::Retain);
        session.wait_started();
        let from = program.run(1);
        let to = program.run(200);
        let (archive, summary) = session.end();
        let recorded = program.end();
        let numbers = archive.numbers("a");
        assert!(numbers.iter().all(|number| !(stopped..started).contains(number)), "{mode:?}");
        assert!((from..to).all(|number| numbers.contains(&number)), "{mode:?}");
        assert!(numbers[0] < stopped);
        assert_gap(&archive);
        assert_eq!(summary.lost(), 0);
        let (archive, summary) = other.end();
        assert_eq!(archive.numbers("b"), recorded["b"], "{mode:?}");
        assert_eq!((summary.lost(), archive.interruptions.len()), (0, 0), "{mode:?}");
    }
}

#[test]
fn a_session_that_starts_again_gets_other_categories() {
    let stage = Stage::new();
    let session = stage.start("a.fxt", config(BufferingMode::Circular, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.wait_recorded();
    let refused = session.handle.start_again(BufferDisposition::Retain, None);
    assert!(matches!(refused, Err(ManagerError::NotStopped)), "{refused:?}");
    session.pause();
    let categories = Some(vec!["b".to_owned()]);
    session.handle.start_again(BufferDisposition::Retain, categories).unwrap();
    program.wait_recorded();
    program.run(100);
    let recorded = program.end();
    let (archive, _) = session.end();
    assert_eq!(archive.numbers("a"), recorded["a"]);
    assert_eq!(archive.numbers("b"), recorded["b"]);
    assert_eq!(archive.categories(), ["a", "b"]);
}

/// Each start adds a provider to the archive, but no entry to the summary.
#[test]
fn a_session_stops_many_times() {
    let stage = Stage::new();
    let session = stage.start("a.fxt", config(BufferingMode::Streaming, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    for _ in 0..20 {
        program.wait_recorded();
        session.pause();
        session.start_again(BufferDisposition::Retain);
    }
    program.wait_recorded();
    let recorded = program.end();
    let (archive, summary) = session.end();
    assert_eq!(archive.numbers("a"), recorded["a"]);
    assert_eq!((archive.interruptions.len(), summary.providers.len()), (20, 1));
    assert_eq!(summary.events(), recorded["a"].len() as u64);
}

/// A trigger that stops the session does so also while it does not record.
#[test]
fn a_trigger_ends_a_stopped_session() {
    let stage = Stage::new();
    let rule: TriggerRule = "signal:USR1:stop".parse().unwrap();
    let rules = vec![rule.clone()];
    let session =
        stage.start("a.fxt", SessionConfig { rules, ..config(BufferingMode::Oneshot, &["a"]) });
    let program = Program::start(stage.manager.path(), "one");
    program.wait_recorded();
    session.pause();
    session.handle.hold(rule.condition.clone());
    assert!(session.handle.wait_state(SessionState::Terminated, LONG));
    let recorded = program.end();
    let (archive, summary) = session.end();
    assert_eq!(summary.stopped_by, Some(rule.cause()));
    assert_eq!(archive.numbers("a"), recorded["a"]);
}

/// The variable with the number of the mode.
const MODE: &str = "TRACE_TEST_MODE";

/// Not a test: a manager with a guarded session, which stops and starts again on lines of standard
/// input.
#[test]
#[ignore = "the program that a test runs"]
fn program() {
    let directory = std::env::var(DIRECTORY).unwrap();
    let mode = MODES[std::env::var(MODE).unwrap().parse::<usize>().unwrap()];
    let directory = Path::new(&directory);
    let manager = Manager::bind(&directory.join("manager.sock")).unwrap();
    let handle = start_guarded(&manager, directory, "a.fxt", config(mode, &["a"]));
    let session = Session { handle, path: directory.join("a.fxt") };
    let mut lines = std::io::stdin().lines();
    loop {
        lines.next().unwrap().unwrap();
        session.pause();
        println!("stopped");
        lines.next().unwrap().unwrap();
        session.start_again(BufferDisposition::Retain);
        println!("started");
    }
}

/// Kills a manager after this number of stops and starts. Returns the archive, and what the program
/// recorded.
fn killed(mode: usize, steps: usize) -> (Archive, program::Recorded) {
    let directory = tempfile::tempdir().unwrap();
    let listener = Listener::bind(&directory.path().join("guards.sock")).unwrap();
    let mut manager = Command::new(std::env::current_exe().unwrap());
    manager.args(["--ignored", "--exact", "pausing::program", "--nocapture"]);
    manager.env(DIRECTORY, directory.path()).env(MODE, mode.to_string());
    let mut child = manager.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    let mut wait_for = |line: &str| {
        assert!(lines.any(|found| found.unwrap().ends_with(line)), "the manager fails");
    };
    let guard = guard(&listener);
    wait_for("started");
    let program = Program::start(&directory.path().join("manager.sock"), "one");
    program.wait_recorded();
    for step in 0..steps {
        program.run(300);
        input.write_all(b"\n").unwrap();
        wait_for(["stopped", "started"][step % 2]);
        if step % 2 == 1 {
            program.wait_recorded();
        }
    }
    program.run(300);
    child.kill().unwrap();
    child.wait().unwrap();
    let outcome = guard.join().unwrap();
    assert!(matches!(outcome, GuardOutcome::Completed { missing: 0, .. }), "{outcome:?}");
    (Archive::open(&directory.path().join("a.fxt")), program.end())
}

#[test]
fn a_kill_loses_nothing_of_a_session_that_has_stopped_or_started_again() {
    for (mode, steps) in (0..MODES.len()).flat_map(|mode| (0..5).map(move |steps| (mode, steps))) {
        let (archive, recorded) = killed(mode, steps);
        let case = format!("{:?} after {steps} steps", MODES[mode]);
        assert_eq!(archive.numbers("a"), recorded["a"], "{case}");
        // The last gap is written when the buffer before it has been read.
        let gaps = archive.interruptions.len();
        assert!(gaps <= steps / 2 && gaps >= (steps / 2).saturating_sub(1), "{case}: {gaps}");
    }
}
