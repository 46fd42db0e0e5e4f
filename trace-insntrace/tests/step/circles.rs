//! Direct jumps in a circle: no packet is required to decode a round, and each is traced.

use std::process::{Command, Stdio};

use trace_insntrace::flow::Event;
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::spawn;
use crate::stepped::{self, finish, options, program, Stepped, FIRST};

/// The least number of instructions that are traced of a circle.
const STEPS: u64 = 3000;

const CIRCLES: [&str; 5] = ["two", "four", "several", "inside", "call"];

/// Traces a program that executes a circle, until the budget is used up.
fn trace(circle: &str, settings: Options) -> Stepped {
    let mut child = spawn(Command::new(program("circles.c")).arg(circle));
    let budget = settings.budget;
    let mut tracer = Tracer::attach(child.id(), settings).unwrap();
    let run = finish(&mut tracer);
    assert_eq!(Some(tracer.steps()), budget);
    drop(tracer);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "{circle}");
    run
}

#[test]
fn each_round_is_traced_until_the_program_is_released() {
    for engine in [Engine::Step, Engine::Block] {
        for (circle, more) in CIRCLES.into_iter().flat_map(|it| [(it, 0), (it, 1), (it, 2)]) {
            let budget = Some(STEPS + more);
            let run = trace(circle, Options { engine, budget, ..options(Writer::new()) });
            assert_eq!(run.executed.len() as u64, STEPS + more, "{engine:?} {circle}");
            run.check();
        }
    }
}

#[test]
fn each_round_is_traced_between_boundaries() {
    for engine in [Engine::Step, Engine::Block] {
        for (circle, psb_bytes) in CIRCLES.into_iter().flat_map(|it| [(it, 64), (it, 200)]) {
            let budget = Some(STEPS);
            trace(circle, Options { engine, budget, psb_bytes, ..options(Writer::new()) }).check();
        }
    }
}

#[test]
fn each_round_is_traced_between_signals() {
    for engine in [Engine::Step, Engine::Block] {
        for circle in CIRCLES {
            let mut command = Command::new(program("circles.c"));
            command.args([circle, "alarms"]).stdout(Stdio::null());
            let settings = Options { engine, ..options(Writer::new()) };
            let (run, end) = stepped::trace(&mut command, settings);
            assert_eq!(end, ThreadEnd::Exited(6), "{engine:?} {circle}");
            run.check();
        }
    }
}

/// No packet can be between two executions of one jump.
#[test]
fn a_jump_to_itself_is_a_gap() {
    for engine in [Engine::Step, Engine::Block] {
        let run = trace("self", Options { engine, budget: Some(STEPS), ..options(Writer::new()) });
        let ((found, events), executed) = (run.decode(FIRST), run.executed_by(FIRST));
        assert!(found.len() < executed.len() && executed.starts_with(&found), "{engine:?}");
        let gaps = events.iter().filter(|event| matches!(event, Event::Overflow { .. })).count();
        assert_eq!(gaps, 1, "{engine:?}");
    }
}
