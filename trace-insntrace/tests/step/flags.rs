//! Threads that load flags, or look at those that a system call has copied, while they are stepped.

use std::io::Write;
use std::process::{Child, Command};

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::stepped::{finish, options, program, trace};
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
fn a_released_thread_loads_flags_that_a_system_call_has_copied() {
    release_in("copied");
}

#[test]
fn system_calls_do_not_copy_the_trap_flag() {
    let untraced = Command::new(program("copied.c")).status().unwrap();
    assert_eq!(untraced.code(), Some(3));
    for engine in [Engine::Step, Engine::Block] {
        let settings = Options { engine, ..options(Writer::new()) };
        let (run, end) = trace(&mut Command::new(program("copied.c")), settings);
        assert_eq!(end, ThreadEnd::Exited(3), "{engine:?}");
        run.check();
    }
}

#[test]
fn untraced_children_have_no_copy_of_the_trap_flag() {
    let mut child = spawn(Command::new(program("copied.c")).arg("wait"));
    let mut tracer = Tracer::attach_thread(child.id(), options(Writer::new())).unwrap();
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let run = finish(&mut tracer);
    child.wait().unwrap_err();
    assert_eq!(run.notes.iter().find_map(end).unwrap().1, ThreadEnd::Exited(3));
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
