//! A program that generates code for ever: the tracer's memory does not grow with it.
//!
//! The allocator counts the whole process, so that there is one test.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "common/live.rs"]
mod live;
#[path = "common/stepped.rs"]
mod stepped;

use std::process::Command;

use stepped::{options, program, Stepped};
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, Tracer};

/// More than what is kept of code that is not mapped any more. Without a limit, each instruction
/// takes some 80 bytes, and each function the 4 KiB of its page.
const MOST_BYTES: usize = 16 << 20;

#[test]
fn memory_does_not_grow_with_generated_code() {
    // Few functions with many instructions, and many with few.
    for (functions, bytes) in [(600, 1024), (8_000, 6)] {
        let most = most_bytes(functions, bytes);
        assert!(most < MOST_BYTES, "{most} bytes, {functions} functions of {bytes} bytes");
    }
}

/// Traces a program that generates functions of this many bytes, and returns the bytes that the
/// tracer has in use at most.
fn most_bytes(functions: usize, bytes: usize) -> usize {
    let mut command = Command::new(program("generates.c"));
    command.args([functions, bytes].map(|number| number.to_string()));
    let settings = Options { engine: Engine::Block, ..options(Writer::new()) };
    let mut tracer = Tracer::start(&mut command, settings).unwrap();
    let before = live::bytes();
    let (mut executed, mut most, mut packets) = (0, 0, 0);
    let mut part = Stepped::default();
    while tracer.step().unwrap().is_some() {
        executed += 1;
        if executed % 10_000 == 0 {
            part.drain(&mut tracer);
            packets += part.packets.values().map(Vec::len).sum::<usize>();
            part = Stepped::default();
            most = most.max(live::bytes().saturating_sub(before));
        }
    }
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(3));
    // Beside the first one, instructions are of one byte.
    let least = functions * (bytes - 4);
    assert!(executed > least && packets > functions, "{executed} {packets}");
    println!("{most} bytes at most, {executed} instructions");
    most
}
