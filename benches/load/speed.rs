//! Events a second through one daemon.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::daemon::{config, events_and_lost, stop, Daemon, SESSION};
use crate::process::cpu_of_threads;
use crate::program::Program;

const TIME: Duration = Duration::from_secs(5);
const BUFFER: u64 = 64 << 20;

/// The destination of the records.
#[derive(Clone, Copy)]
enum Output {
    Discarded,
    Memory,
    Disk,
}

/// A row of the table.
struct Case {
    output: Output,
    programs: usize,
    /// Events of all programs in a second; 0 for as many as possible.
    rate: u64,
}

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| programs | offered, million a second | archive | events | lost | archived, million a \
         second | programs' CPU time, s | daemon's CPU time by thread, s | stop, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let case = |output, programs, rate: u64| Case { output, programs, rate: rate * 1_000_000 };
    for rate in [10, 20, 30, 40, 50] {
        run(&case(Output::Discarded, 4, rate));
    }
    for rate in [20, 30] {
        run(&case(Output::Memory, 4, rate));
    }
    for rate in [10, 20] {
        run(&case(Output::Disk, 4, rate));
    }
    for programs in [1, 2] {
        run(&case(Output::Discarded, programs, 0));
    }
    println!();
}

fn run(case: &Case) {
    let daemon = Daemon::start_in(&case.output.directory());
    let rate = case.rate / case.programs as u64;
    let role = format!("paced {rate} {}", TIME.as_millis());
    let mut programs = Program::start_many(&daemon.socket(), &role, case.programs);
    daemon.wait_for_programs(case.programs);
    let mut controller = daemon.controller();
    let output = File::create(case.output.path(&daemon)).expect("an output");
    controller.initialize(&config(BUFFER), &output).expect("a session");
    controller.start(SESSION).expect("it starts");
    let (begin, before) = (Instant::now(), cpu_of_threads(daemon.pid()));
    programs.iter_mut().for_each(Program::go);
    let numbers: Vec<_> = programs.iter_mut().map(Program::numbers).collect();
    let stopping = Instant::now();
    let threads: Vec<String> = cpu_of_threads(daemon.pid())
        .into_iter()
        .map(|(name, nanos)| (nanos - before.get(&name).unwrap_or(&0), name))
        .filter(|(nanos, _)| *nanos > 50_000_000)
        .map(|(nanos, name)| format!("{name} {:.1}", nanos as f64 / 1e9))
        .collect();
    let summary = stop(&mut controller);
    let (archived, lost) = events_and_lost(&summary);
    let (stop, all) = (stopping.elapsed().as_secs_f64(), begin.elapsed().as_secs_f64());
    let sum = |index: usize| numbers.iter().map(|it: &Vec<u64>| it[index]).sum::<u64>();
    let (written, cpu) = (sum(0), sum(1) as f64 / 1e9);
    assert_eq!(written, archived + lost, "no loss is hidden");
    println!(
        "| {} | {} | {} | {written} | {lost} | {:.1} | {cpu:.1} | {} | {:.0} |",
        case.programs,
        if rate == 0 { "full speed".to_owned() } else { (case.rate / 1_000_000).to_string() },
        case.output.name(),
        archived as f64 / all / 1e6,
        threads.join(", "),
        stop * 1e3,
    );
}

impl Output {
    fn name(self) -> &'static str {
        match self {
            Self::Discarded => "`/dev/null`",
            Self::Memory => "in memory",
            Self::Disk => "on disk",
        }
    }

    /// Returns the directory of the daemon.
    fn directory(self) -> PathBuf {
        match self {
            Self::Discarded | Self::Disk => std::env::temp_dir(),
            Self::Memory => Path::new("/dev/shm").to_owned(),
        }
    }

    fn path(self, daemon: &Daemon) -> PathBuf {
        match self {
            Self::Discarded => Path::new("/dev/null").to_owned(),
            Self::Memory | Self::Disk => daemon.archive(),
        }
    }
}
