//! Traces against a list that is made without our code: by a stepper in C, which decodes nothing.

use std::process::{Command, Stdio};

use trace_insntrace::flow::{Event, Item};
use trace_insntrace::pt::Writer;
use trace_insntrace::recording::{SpaceId, ThreadEnd, TraceDecoder};
use trace_insntrace::step::{Engine, Options};

use crate::stepped::{self, options, program, FIRST};

/// Returns the addresses of all instructions that a program executes.
fn listed(source: &str) -> Vec<u64> {
    let mut command = Command::new(program("bare.c"));
    command.arg("list").arg(program(source)).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}

/// Returns the addresses that the trace of a program has, and `None` for each reported gap.
fn traced(source: &str, engine: Engine, exit_code: i32) -> Vec<Option<u64>> {
    let mut command = Command::new(program("fixed.c"));
    command.arg(program(source)).stdin(Stdio::null()).stdout(Stdio::null());
    let settings = Options { engine, ..options(Writer::new()) };
    let (run, end) = stepped::trace(&mut command, settings);
    assert_eq!(end, ThreadEnd::Exited(exit_code));
    let mut decoder = TraceDecoder::new(&run.notes, FIRST, &run.packets[&FIRST][..]);
    let mut found = Vec::new();
    while let Some(item) = decoder.next_item().unwrap() {
        // The first address space is that of `fixed.c`.
        if decoder.space() != Some(SpaceId(1)) {
            continue;
        }
        match item.unwrap() {
            Item::Instruction(instruction) => found.push(Some(instruction.ip)),
            Item::Event(Event::Overflow { .. }) => found.push(None),
            Item::Event(_) => {}
        }
    }
    found
}

/// Returns the listed instructions that a trace does not have. Each is in a gap that it reports.
#[track_caller]
fn missing(listed: &[u64], traced: &[Option<u64>]) -> Vec<u64> {
    let (mut traced, mut missing, mut in_gap) = (traced.iter().peekable(), Vec::new(), false);
    for (number, ip) in listed.iter().enumerate() {
        while traced.next_if_eq(&&None).is_some() {
            in_gap = true;
        }
        if traced.next_if_eq(&&Some(*ip)).is_some() {
            in_gap = false;
        } else {
            let next = traced.peek();
            assert!(in_gap, "{number} of {}: {ip:x} is missing before {next:x?}", listed.len());
            missing.push(*ip);
        }
    }
    assert_eq!(traced.flatten().next(), None, "behind the last instruction");
    missing
}

#[test]
fn every_instruction_of_a_program_is_traced() {
    let listed = listed("program.c");
    assert!(listed.len() > 10_000);
    for engine in [Engine::Step, Engine::Block] {
        let traced = traced("program.c", engine, 7);
        assert_eq!(missing(&listed, &traced), [0; 0], "{engine:?}");
        assert!(!traced.contains(&None), "{engine:?}");
    }
}

#[test]
fn instructions_that_cannot_be_traced_are_a_gap() {
    let listed = listed("gap.c");
    for engine in [Engine::Step, Engine::Block] {
        let traced = traced("gap.c", engine, 9);
        let missing = missing(&listed, &traced);
        let Some(first) = missing.first() else { panic!("32-bit code is decoded") };
        assert_eq!(missing, [0, 1, 2, 3].map(|offset| first + offset), "{engine:?}");
        assert_eq!(traced.iter().filter(|it| it.is_none()).count(), 1, "{engine:?}");
    }
}
