//! Programs that handle and block SIGTRAP.

use std::process::{Command, Stdio};

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::stepped::{finish, options, program};

/// Runs `traps.c` to its end. Returns the number of steps.
fn run(options: Options) -> u64 {
    let mut command = Command::new(program("traps.c"));
    let mut tracer = Tracer::start(command.stdout(Stdio::null()), options).unwrap();
    let run = finish(&mut tracer);
    run.check();
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(4));
    tracer.steps()
}

#[test]
fn a_program_that_blocks_its_traps_is_traced_by_steps() {
    run(options(Writer::new()));
}

#[test]
fn a_program_that_blocks_its_traps_is_traced_by_blocks() {
    run(Options { engine: Engine::Block, ..options(Writer::new()) });
}

#[test]
fn a_program_that_blocks_its_traps_is_released_with_its_mask() {
    let steps = run(options(Writer::new()));
    for before_end in (20..2000).step_by(291) {
        let budget = Some(steps.saturating_sub(before_end).max(1));
        run(Options { budget, ..options(Writer::new()) });
    }
}
