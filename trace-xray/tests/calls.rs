//! Calls from entries and exits, some of which are missing.

mod common;

use common::Made;
use trace_xray::calls::{Call, CallStack, CallStacks, End, Limits, Step};
use trace_xray::layout::{Action, Version};
use trace_xray::read::Reader;
use trace_xray::{Format, FunctionId, FunctionRecord};

const ENTRY: Action = Action::Entry;
const EXIT: Action = Action::Exit;
const TAIL: Action = Action::TailExit;

fn id(number: u32) -> FunctionId {
    FunctionId::new(number).unwrap()
}

/// Applies records at ticks 10, 20, …; returns the calls, and how many exits had no entry.
fn calls(records: &[(Action, u32)]) -> (Vec<Call>, usize) {
    let mut stack = CallStack::default();
    let (mut all, mut without) = (Vec::new(), 0);
    for (at, (action, function)) in (10..).step_by(10).zip(records) {
        let record = FunctionRecord { action: *action, function: id(*function), delta: 0 };
        match stack.step(at, record) {
            Step::Left(calls) => all.extend(calls),
            Step::NoEntry => without += 1,
            Step::Entered { .. } => {}
            Step::OverLimit => panic!("there is no limit"),
        }
    }
    all.extend(stack.finish());
    assert!(stack.frames().is_empty());
    (all, without)
}

fn call(function: u32, entered: u64, left: u64, depth: usize, end: End) -> Call {
    Call { function: id(function), entered, left, depth, end }
}

#[test]
fn nested_calls() {
    let (found, without) =
        calls(&[(ENTRY, 1), (ENTRY, 2), (EXIT, 2), (ENTRY, 2), (EXIT, 2), (EXIT, 1)]);
    let expected = [
        call(2, 20, 30, 1, End::Exit),
        call(2, 40, 50, 1, End::Exit),
        call(1, 10, 60, 0, End::Exit),
    ];
    assert_eq!((&found[..], without), (&expected[..], 0));
}

#[test]
fn recursion() {
    let (found, _) = calls(&[(ENTRY, 1), (Action::EntryArgs, 1), (EXIT, 1), (EXIT, 1)]);
    assert_eq!(found, [call(1, 20, 30, 1, End::Exit), call(1, 10, 40, 0, End::Exit)]);
}

#[test]
fn a_tail_exit_ends_the_function_that_jumps() {
    // 1 calls 2, 2 jumps to 3, 3 returns to 1.
    let (found, _) = calls(&[(ENTRY, 1), (ENTRY, 2), (TAIL, 2), (ENTRY, 3), (EXIT, 3), (EXIT, 1)]);
    let expected = [
        call(2, 20, 30, 1, End::TailExit),
        call(3, 40, 50, 1, End::Exit),
        call(1, 10, 60, 0, End::Exit),
    ];
    assert_eq!(found, expected);
}

#[test]
fn entries_without_exits_end_with_their_caller() {
    let (found, _) = calls(&[(ENTRY, 1), (ENTRY, 2), (ENTRY, 3), (EXIT, 1), (ENTRY, 4), (EXIT, 4)]);
    let expected = [
        call(3, 30, 40, 2, End::Missing),
        call(2, 20, 40, 1, End::Missing),
        call(1, 10, 40, 0, End::Exit),
        call(4, 50, 60, 0, End::Exit),
    ];
    assert_eq!(found, expected);
}

#[test]
fn entries_without_any_exit_are_open() {
    let (found, _) = calls(&[(ENTRY, 1), (ENTRY, 2), (EXIT, 2), (ENTRY, 3)]);
    let expected = [
        call(2, 20, 30, 1, End::Exit),
        call(3, 40, 40, 1, End::Open),
        call(1, 10, 40, 0, End::Open),
    ];
    assert_eq!(found, expected);
}

#[test]
fn exits_without_entries_leave_open_calls_alone() {
    let (found, without) = calls(&[(EXIT, 1), (ENTRY, 2), (TAIL, 3), (EXIT, 2), (EXIT, 4)]);
    assert_eq!((found, without), (vec![call(2, 20, 40, 0, End::Exit)], 3));
}

/// LLVM's runtime removes the records of short calls, and of the tail exits before them.
#[test]
fn calls_that_the_writer_removed() {
    // 1 calls 2, which calls the short 3; 2 jumps to the short 4. 2's own entry may be gone, too.
    let (found, without) = calls(&[(ENTRY, 1), (ENTRY, 2), (TAIL, 2), (EXIT, 1), (TAIL, 2)]);
    let expected = [call(2, 20, 30, 1, End::TailExit), call(1, 10, 40, 0, End::Exit)];
    assert_eq!((&found[..], without), (&expected[..], 1));
}

#[test]
fn calls_end_also_if_the_result_is_not_read() {
    let mut stack = CallStack::default();
    let record = |action| FunctionRecord { action, function: id(1), delta: 0 };
    stack.step(1, record(ENTRY));
    stack.step(2, record(EXIT));
    assert!(stack.frames().is_empty());
}

#[test]
fn calls_beyond_the_limit_are_ignored() {
    let mut stack = CallStack::with_limit(2);
    let mut step = |action| {
        let step = stack.step(1, FunctionRecord { action, function: id(1), delta: 0 });
        matches!(step, Step::OverLimit)
    };
    let entries: Vec<_> = (0..4).map(|_| step(ENTRY)).collect();
    let exits: Vec<_> = (0..4).map(|_| step(EXIT)).collect();
    assert_eq!(entries, [false, false, true, true]);
    assert_eq!(exits, [true, true, false, false]);
}

/// An exception leaves all calls beyond the limit.
#[test]
fn unwinding_from_beyond_the_limit() {
    let mut stack = CallStack::with_limit(2);
    let mut calls = Vec::new();
    let mut step = |action, function| {
        let record = FunctionRecord { action, function: id(function), delta: 0 };
        match stack.step(1, record) {
            Step::Left(ended) => calls.extend(ended.map(|call| call.function.number())),
            Step::OverLimit => return 1,
            _ => {}
        }
        0
    };
    step(ENTRY, 1);
    step(ENTRY, 2);
    let over_limit: u64 = (0..100).map(|number| step(ENTRY, 3 + number % 2)).sum();
    assert_eq!(over_limit, 100);
    assert_eq!([step(EXIT, 9), step(EXIT, 3), step(EXIT, 2)], [0, 1, 0]);
    for _ in 0..10 {
        step(ENTRY, 4);
        step(EXIT, 4);
    }
    step(EXIT, 1);
    assert_eq!(calls, [&[2][..], &[4; 10], &[1]].concat());
}

/// Two logs in one file may have a thread of the same id.
#[test]
fn logs_have_threads_of_their_own() {
    let mut log = Made::new(Format::little(Version::V1), 0);
    for action in [ENTRY, EXIT] {
        let mut other = Made::new(Format::little(Version::V1), 0);
        other.buffer(|log| {
            log.start(0, 8);
            log.function(action, 1, 1);
        });
        match action {
            ENTRY => log.extend_buffers(&other),
            _ => log.extend(&other),
        }
    }
    let (mut stacks, mut reader) = (CallStacks::default(), Reader::new(&log.bytes[..]));
    let mut without = 0;
    while let Some(item) = reader.next().unwrap() {
        match stacks.step(&item) {
            Some(Step::NoEntry) => without += 1,
            Some(Step::Left(_)) => panic!("a call ends in another log"),
            _ => {}
        }
    }
    assert_eq!((without, stacks.threads().count()), (1, 2));
}

/// A thread's calls continue in its next thread buffer.
#[test]
fn threads_have_stacks_of_their_own() {
    let mut log = Made::new(Format::little(Version::V5), 1024);
    for (thread, action, function) in [(1, ENTRY, 1), (2, ENTRY, 2), (1, EXIT, 1), (2, EXIT, 2)] {
        log.buffer(|log| {
            log.start(7, thread);
            log.function(action, function, thread as u32);
        });
    }
    let read = |limits| {
        let mut stacks = CallStacks::with_limits(limits);
        let mut reader = Reader::new(&log.bytes[..]);
        let (mut calls, mut left_out) = (Vec::new(), 0);
        while let Some(item) = reader.next().unwrap() {
            match stacks.step(&item) {
                Some(Step::Left(ended)) => calls.extend(ended),
                Some(Step::OverLimit) => left_out += 1,
                _ => {}
            }
        }
        (calls, left_out)
    };
    let (first, second) = (call(1, 1001, 1001, 0, End::Exit), call(2, 1002, 1002, 0, End::Exit));
    assert_eq!(read(Limits::default()), (vec![first, second], 0));
    assert_eq!(read(Limits { threads: 1, ..Limits::default() }), (vec![first], 2));
}
