//! Traces against a list that is made without our code: by a stepper in C, which decodes nothing.

use trace_insntrace::step::Engine;

use crate::lists::{decoded, traced, Listed};
use crate::stepped::{program, FIRST};

/// Returns the addresses of all instructions of the first thread of a program of ours.
fn listed(source: &str) -> Vec<u64> {
    let path = program(source);
    Listed::new(&[path.to_str().unwrap()], None).threads.swap_remove(0)
}

/// Returns the addresses that the trace of the first thread has, and `None` for each reported gap.
fn found(source: &str, engine: Engine) -> Vec<Option<u64>> {
    let path = program(source);
    decoded(&traced(&[path.to_str().unwrap()], engine, None), FIRST)
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
        let found = found("program.c", engine);
        assert_eq!(missing(&listed, &found), [0; 0], "{engine:?}");
        assert!(!found.contains(&None), "{engine:?}");
    }
}

#[test]
fn instructions_that_cannot_be_traced_are_a_gap() {
    let listed = listed("gap.c");
    for engine in [Engine::Step, Engine::Block] {
        let found = found("gap.c", engine);
        let missing = missing(&listed, &found);
        let Some(first) = missing.first() else { panic!("32-bit code is decoded") };
        assert_eq!(missing, [0, 1, 2, 3].map(|offset| first + offset), "{engine:?}");
        assert_eq!(found.iter().filter(|it| it.is_none()).count(), 1, "{engine:?}");
    }
}
