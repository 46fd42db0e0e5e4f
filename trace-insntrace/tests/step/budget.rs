//! The budget is the number of executed instructions.

use std::process::Command;

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::spawn;
use crate::stepped::{compile_to, finish, options, program};

/// The number of instructions of `counted.c`.
const COUNTED: u64 = 14;

#[test]
fn the_budget_of_a_command_is_the_number_of_its_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counted");
    assert!(compile_to(&path, "counted.c", &["-static", "-nostdlib"]));
    for engine in [Engine::Step, Engine::Block] {
        for budget in 1..=COUNTED + 1 {
            let settings = Options { engine, budget: Some(budget), ..options(Writer::new()) };
            let mut tracer = Tracer::start(&mut Command::new(&path), settings).unwrap();
            let run = finish(&mut tracer);
            run.check();
            let expected = budget.min(COUNTED);
            assert_eq!(run.executed.len() as u64, expected, "{engine:?} {budget}");
            assert_eq!(tracer.steps(), expected, "{engine:?} {budget}");
            assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(5));
        }
    }
}

#[test]
fn the_budget_of_a_program_that_runs_is_the_number_of_its_instructions() {
    for engine in [Engine::Step, Engine::Block] {
        for budget in [1, 2, 1001] {
            let mut child = spawn(Command::new(program("circles.c")).arg("two"));
            let settings = Options { engine, budget: Some(budget), ..options(Writer::new()) };
            let mut tracer = Tracer::attach(child.id(), settings).unwrap();
            let run = finish(&mut tracer);
            run.check();
            let found = (run.executed.len() as u64, tracer.steps());
            assert_eq!(found, (budget, budget), "{engine:?}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
