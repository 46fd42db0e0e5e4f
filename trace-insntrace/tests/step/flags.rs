//! Threads that load flags while they are stepped.

use std::io::Write;
use std::process::{Child, Command};

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::Tracer;

use crate::stepped::{finish, options, program};
use crate::{end, spawn, trace_and_release};

/// More steps than the program needs until it waits for the end of its input.
const STEPS: usize = 6000;

fn start(mode: &str) -> Child {
    spawn(Command::new(program("flags.c")).arg(mode))
}

fn release_in(mode: &str) {
    let mut child = start(mode);
    let tracer = Tracer::attach(child.id(), options(Writer::new())).unwrap();
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    trace_and_release(child, tracer, STEPS);
}

#[test]
fn a_released_thread_that_has_loaded_flags_continues() {
    release_in("loop");
}

#[test]
fn a_thread_that_is_released_in_a_handler_continues_behind_it() {
    release_in("signal");
}

#[test]
fn an_untraced_child_of_a_thread_that_has_loaded_flags_continues() {
    let mut child = start("fork");
    let mut tracer = Tracer::attach_thread(child.id(), options(Writer::new())).unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let run = finish(&mut tracer);
    // The tracer, its parent too, has waited for it.
    child.wait().unwrap_err();
    run.check();
    assert_eq!(run.notes.iter().find_map(end).unwrap().1, ThreadEnd::Exited(3));
}
