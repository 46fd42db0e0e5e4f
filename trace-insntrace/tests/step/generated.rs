//! Code that a program generates at new addresses again and again.

use std::process::Command;

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options};

use crate::stepped::{self, options, program, FIRST};

/// What is forgotten does not change the trace.
#[test]
fn generated_code_is_traced() {
    for engine in [Engine::Step, Engine::Block] {
        let mut command = Command::new(program("generates.c"));
        command.arg("150");
        let settings = Options { engine, ..options(Writer::new()) };
        let (run, end) = stepped::trace(&mut command, settings);
        assert_eq!(end, ThreadEnd::Exited(3));
        assert!(run.executed_by(FIRST).len() > 150_000);
        run.check();
    }
}

/// The decoder has code at these addresses that the engine has forgotten, or has not executed.
#[test]
fn code_is_traced_where_other_code_was() {
    for engine in [Engine::Step, Engine::Block] {
        for part in ["unmapped", "restored"] {
            let mut command = Command::new(program("returns.c"));
            command.arg(part);
            let settings = Options { engine, ..options(Writer::new()) };
            let (run, end) = stepped::trace(&mut command, settings);
            assert_eq!(end, ThreadEnd::Exited(3), "{part}, {engine:?}");
            run.check();
        }
    }
}
