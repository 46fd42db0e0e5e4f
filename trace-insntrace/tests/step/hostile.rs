//! Programs that are hard to trace, by each engine.

use std::io::Read;
use std::process::{Command, Stdio};

use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, Tracer};

use crate::end;
use crate::required::lacks;
use crate::stepped::{self, finish, options, program, Stepped};

/// Traces a part of `hostile.c`, and checks that it does what it does untraced.
fn run_part(part: &str, engine: Engine) -> Stepped {
    let mut command = Command::new(program("hostile.c"));
    command.arg(part).stdout(Stdio::piped());
    let settings = Options { engine, ..options(Writer::new()) };
    let mut tracer = Tracer::start(&mut command, settings).unwrap();
    let run = finish(&mut tracer);
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    let ended = (&*output, tracer.wait().unwrap());
    assert_eq!(ended, ("ok\n", ThreadEnd::Exited(0)), "{part}, {engine:?}");
    assert!(tracer.untraced().is_none());
    run
}

fn hostile(part: &str) {
    for engine in [Engine::Step, Engine::Block] {
        run_part(part, engine).check();
    }
}

#[test]
fn code_that_changes_is_traced_as_it_was() {
    hostile("generated");
    hostile("overlapping");
}

#[test]
fn code_of_a_shared_file_is_not_modified() {
    hostile("shared");
}

#[test]
fn children_have_no_breakpoints() {
    hostile("children");
}

#[test]
fn threads_run_the_same_code() {
    hostile("threads");
}

#[test]
fn threads_end_one_by_one() {
    for engine in [Engine::Step, Engine::Block] {
        let run = run_part("exits", engine);
        run.check();
        let ends: Vec<_> = run.notes.iter().filter_map(end).collect();
        assert_eq!((run.packets.len(), ends.len()), (5, 5), "{engine:?}");
        assert!(ends.iter().all(|(_, end)| *end == ThreadEnd::Exited(0)), "{engine:?} {ends:?}");
    }
}

#[test]
fn signals_arrive_at_any_instruction() {
    hostile("signals");
    hostile("traps");
}

#[test]
fn branches_that_fail_fail_in_the_program() {
    hostile("faults");
}

#[test]
fn calls_of_32_bit_programs_are_traced() {
    hostile("old calls");
}

#[test]
fn programs_that_trace_or_spin_are_traced() {
    hostile("tracing");
    // Turns without a packet cannot be decoded.
    run_part("spins", Engine::Step);
    run_part("spins", Engine::Block);
}

#[test]
fn programs_that_block_signals_and_close_descriptors_are_traced() {
    hostile("masks");
}

#[test]
fn restartable_sequences_are_aborted_and_traced() {
    for engine in [Engine::Step, Engine::Block] {
        // An instruction after which the kernel moves the thread is missing, and reported. An old
        // C library has no such sequences.
        assert!(run_part("restartable", engine).check_with_gaps() <= 50, "{engine:?}");
    }
}

/// The calls that queue a signal have other numbers in 32-bit programs.
#[test]
fn a_32_bit_program_gets_its_own_traps() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("queue32");
    // Without a library, the compiler requires no files of another architecture.
    let freestanding = ["-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector"];
    let options_of_compiler = [&freestanding[..], &["-O1", "-fno-pie", "-no-pie"]].concat();
    assert!(stepped::compile_to(&program, "queue32.c", &options_of_compiler));
    let untraced = match Command::new(&program).status() {
        Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
            return lacks("a kernel that executes 32-bit programs");
        }
        status => status.unwrap().code(),
    };
    assert_eq!(untraced, Some(12));
    for engine in [Engine::Step, Engine::Block] {
        let settings = Options { engine, ..options(Writer::new()) };
        let (run, end) = stepped::trace(&mut Command::new(&program), settings);
        assert_eq!(end, ThreadEnd::Exited(12), "{engine:?}");
        run.check_with_gaps();
    }
}
