//! Programs that are not traced by software: untraced, and by the processor.
//!
//! No counter of the processor is required: a stepper counts the instructions of two short runs,
//! and two long runs are timed. The difference of the runs has no start of a program.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trace_insntrace::controller::BufferConfig;
use trace_insntrace::hardware::{Pmu, RecordError, Recorder, Settings};

use crate::stepped::program;

const ROUNDS: usize = 5;

/// The work of the short runs. Their instructions are counted.
const COUNTED: [u64; 2] = [10, 40];

/// The work of the long runs, which are timed.
const TIMED: [u64; 2] = [100_000, 2_100_000];

/// A program that does a number of equal parts of work.
pub(crate) type Parts = fn(u64) -> Vec<String>;

/// Instructions of a program, for each part of its work.
pub(crate) fn instructions(parts: Parts) -> f64 {
    let [few, many] = COUNTED.map(|number| count(&parts(number)));
    (many - few) as f64 / (COUNTED[1] - COUNTED[0]) as f64
}

/// Returns the number of instructions of a whole program. All iterations of a `rep` are one.
fn count(arguments: &[String]) -> usize {
    let mut command = Command::new(program("bare.c"));
    command.args(["list", "0"]).args(arguments).stderr(Stdio::null());
    let output = String::from_utf8(command.output().expect("a stepper").stdout).expect("text");
    // The first line is not of an instruction.
    output.lines().skip(1).count()
}

/// Returns the seconds for each part of the work.
pub(crate) fn seconds(parts: Parts, run: impl Fn(&mut Command) -> Duration) -> f64 {
    let time = |number: u64| {
        let arguments = parts(number);
        let mut command = Command::new(&arguments[0]);
        command.args(&arguments[1..]).stdin(Stdio::null()).stdout(Stdio::null());
        let rounds = (0..ROUNDS).map(|_| run(&mut command));
        rounds.min().expect("there are rounds").as_secs_f64()
    };
    (time(TIMED[1]) - time(TIMED[0])) / (TIMED[1] - TIMED[0]) as f64
}

/// Runs a program untraced.
pub(crate) fn untraced(command: &mut Command) -> Duration {
    let begin = Instant::now();
    assert!(command.status().expect("a program").success());
    begin.elapsed()
}

/// Runs a program that the processor traces.
pub(crate) fn by_hardware(pmu: &Pmu, command: &mut Command) -> Result<Duration, RecordError> {
    let config = BufferConfig {
        num_chunks: 4,
        chunk_order: 8,
        is_circular: false,
        ctl: pmu.recording_ctl(),
        address_space_match: 0,
        address_ranges: [(0, 0); 2],
    };
    let settings = Settings::new(pmu, &config, &[]).expect("the options of the processor");
    let folder = tempfile::tempdir().expect("a folder");
    let begin = Instant::now();
    let (mut recorder, mut child) = Recorder::run(pmu, &settings, command, folder.path())?;
    while child.try_wait().expect("a program").is_none() {
        recorder.take(Duration::from_millis(1))?;
    }
    recorder.stop()?;
    Ok(begin.elapsed())
}
