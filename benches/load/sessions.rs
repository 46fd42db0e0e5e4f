//! The cost of a second session of the same programs, and of a shared one.

use std::fs::File;
use std::time::Duration;

use trace_manager::controller::{Controller, TraceConfig};
use trace_protocol::mode::BufferingMode;

use crate::daemon::{own_events, Daemon};
use crate::process::cpu_of_threads;
use crate::program::Program;

const TIME: Duration = Duration::from_secs(5);
const BUFFER: u64 = 16 << 20;
/// Programs, and the events of each of them in a second.
const PROGRAMS: usize = 2;
const RATE: u64 = 2_500_000;

/// A row of the table.
struct Case {
    name: &'static str,
    sessions: &'static [Session],
}

/// A session: its mode, whether it is shared, and its category.
struct Session(BufferingMode, bool, &'static str);

const STREAMING: Session = Session(BufferingMode::Streaming, false, "load");
/// Records no event of the programs, which the filter leaves out.
const OTHER: Session = Session(BufferingMode::Streaming, false, "none");
const CIRCULAR: Session = Session(BufferingMode::Circular, false, "load");
const SHARED: Session = Session(BufferingMode::Circular, true, "load");

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| sessions | events of the programs | lost by the first session | programs' CPU time, s | \
         daemon's CPU time by thread, s |"
    );
    println!("|---|---|---|---|---|");
    let case = |name, sessions| Case { name, sessions };
    for case in [
        case("one, streaming", &[STREAMING][..]),
        case("two, streaming, of the same events", &[STREAMING, STREAMING]),
        case("two, streaming, the second one of other events", &[STREAMING, OTHER]),
        case("one, circular", &[CIRCULAR]),
        case("one, circular and shared", &[SHARED]),
        case("a shared circular one, and a streaming one", &[SHARED, STREAMING]),
    ] {
        run(&case);
    }
    println!();
}

fn run(case: &Case) {
    let daemon = Daemon::start();
    let role = format!("paced {RATE} {}", TIME.as_millis());
    let mut programs = Program::start_many(&daemon.socket(), &role, PROGRAMS);
    daemon.wait_for_programs(PROGRAMS);
    let mut controllers: Vec<Controller> = Vec::new();
    for (number, session) in case.sessions.iter().enumerate() {
        let mut controller = daemon.controller();
        let output = File::create("/dev/null").expect("an output");
        controller.initialize(&session.config(number), &output).expect("a session");
        controller.start(&name(number)).expect("it starts");
        controllers.push(controller);
    }
    let before = cpu_of_threads(daemon.pid());
    programs.iter_mut().for_each(Program::go);
    let numbers: Vec<_> = programs.iter_mut().map(Program::numbers).collect();
    let threads: Vec<String> = cpu_of_threads(daemon.pid())
        .into_iter()
        .map(|(name, nanos)| (nanos - before.get(&name).unwrap_or(&0), name))
        .filter(|(nanos, _)| *nanos > 20_000_000)
        .map(|(nanos, name)| format!("{name} {:.2}", nanos as f64 / 1e9))
        .collect();
    let summaries = controllers.iter_mut().enumerate();
    let summaries = summaries.map(|(number, it)| it.stop(&name(number)).expect("a summary"));
    let summaries: Vec<_> = summaries.collect();
    let first = &summaries[0].providers;
    let lost: u64 = first.iter().map(|provider| provider.dropped).sum();
    let archived: u64 = first.iter().map(own_events).sum();
    let sum = |index: usize| numbers.iter().map(|it: &Vec<u64>| it[index]).sum::<u64>();
    let (written, cpu) = (sum(0), sum(1) as f64 / 1e9);
    if case.sessions[0].0 == BufferingMode::Streaming {
        assert_eq!(written, archived + lost, "no loss is hidden");
    }
    println!("| {} | {written} | {lost} | {cpu:.2} | {} |", case.name, threads.join(", "));
}

impl Session {
    fn config(&self, number: usize) -> TraceConfig {
        let Self(mode, shared, category) = *self;
        TraceConfig {
            name: name(number),
            mode,
            shared,
            buffer_size: BUFFER,
            categories: vec![category.to_owned()],
            ..TraceConfig::default()
        }
    }
}

fn name(number: usize) -> String {
    format!("session-{number}")
}
