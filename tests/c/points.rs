//! Every macro, every type of value.

use crate::events::{count, events};
use crate::harness::{trace, Run};
use crate::workshop::Workshop;

/// The records of `record_all` in `points.h`.
const ALL: [&str; 16] = [
    "points/outer Complete number=Int32(1)",
    "points/inner Complete",
    "points/pair DurationBegin begin=Int32(1)",
    "points/pair DurationEnd end=Int32(2)",
    "points/of the process Instant { scope: Some(Process) }",
    "points/of all Instant { scope: Some(Global) }",
    "points/counter Counter { id: 7 } value=Int32(3) other=Double(0.5)",
    "points/async AsyncBegin { id: 7 } key=Int32(1)",
    "points/async AsyncInstant { id: 7 }",
    "points/async AsyncEnd { id: 7 }",
    "points/flow FlowBegin { id: 7 }",
    "points/flow FlowStep { id: 7 }",
    "points/flow FlowEnd { id: 7 } key=Int32(1)",
    "points/statement Instant { scope: Some(Thread) }",
    "values/plain Instant { scope: Some(Thread) } bool=Bool(true) schar=Int32(-1) uchar=Uint32(2) short=Int32(-3) ushort=Uint32(4) \
     int=Int32(-5) unsigned=Uint32(6) long=Int64(-7) ullong=Uint64(8) float=Double(0.5) double=Double(1000000000.0) literal=\"text\" \
     char[]=\"buffer\" none=Null pointer=Pointer(4656)",
    "values/typed Instant { scope: Some(Thread) } null=Null bool=Bool(false) int32=Int32(-1) uint32=Uint32(4294967295) \
     int64=Int64(-9223372036854775808) uint64=Uint64(18446744073709551615) double=Double(-0.25) string=\"grün\" array=\"abcdefghi\" \
     pointer=Pointer(4656) koid=Koid(77) latin1=\"gr?n\" empty=\"\"",
];

/// The records of `record_more` in `points.cc`.
const MORE: [&str; 9] = [
    "cxx/values Instant { scope: Some(Thread) } string=\"a temporary, alive\" c_str=\"so is this\" chars=\"ab\" class=Uint32(3) \
     enum=Uint32(1) nullptr=Null",
    "cxx/template Complete value=Int32(1)",
    "cxx/lambda Instant { scope: Some(Thread) }",
    "cxx/template Complete value=Double(2.5)",
    "cxx/lambda Instant { scope: Some(Thread) }",
    "cxx/unwound Complete depth=Int32(2)",
    "cxx/unwound Complete depth=Int32(1)",
    "cxx/unwound Complete depth=Int32(0)",
    "cxx/caught Instant { scope: Some(Thread) }",
];

fn c(flags: &[&'static str]) {
    let (said, events) = Workshop::new(flags).run(&["points.c"], &[]);
    assert_eq!(events, ALL);
    assert_eq!(said, "0 0 0 1 0\n1 1 0 1 0\n0 0 0 1 0\n", "before, in and after the recording");
}

fn cxx(flags: &[&'static str]) {
    let (said, events) = Workshop::new(flags).run(&["points.cc"], &[]);
    let expected: Vec<&str> = ALL.into_iter().chain(MORE).collect();
    assert_eq!(events, expected);
    assert_eq!(said, "1 1 0 1 0\n");
}

#[test]
fn in_c() {
    c(&[]);
    c(&["-O2"]);
}

#[test]
fn in_cxx() {
    cxx(&[]);
    cxx(&["-O2"]);
}

/// The records of `strict.c`.
const STRICT: [&str; 7] = [
    "strict/first Complete",
    "strict/second Complete",
    "strict/third Complete",
    "strict/fourth Complete number=Int32(1)",
    "strict/values Instant { scope: Some(Thread) } int32=Int32(-1) uint64=Uint64(7) text=\"te\"",
    "strict/counter Counter { id: 7 } int=Int32(-1) double=Double(0.5) typed=Int64(-2)",
    "strict/async AsyncBegin { id: 7 }",
];

#[test]
fn in_strict_projects_and_several_in_a_line() {
    assert_eq!(Workshop::new(&[]).run(&["strict.c"], &[]).1, STRICT);
    assert_eq!(Workshop::new(&["-Wold-style-cast"]).run(&["strict.cc"], &[]).1, STRICT);
}

/// GCC and clang both have sanitizers. Without their libraries a program does not link.
#[test]
fn under_sanitizers() {
    const FLAGS: [&str; 3] = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let there = Workshop::new(&FLAGS).try_program_alone("empty.c");
    if there {
        c(&FLAGS);
        cxx(&FLAGS);
    } else {
        println!("left out: this compiler has no sanitizers");
    }
}

#[test]
fn long_texts_are_cut() {
    let (_, events) = Workshop::new(&[]).run(&["long.c"], &[]);
    let text = "€".repeat(10_666);
    assert_eq!(events[0], format!("long/one Instant {{ scope: Some(Thread) }} text={text:?}"));
    let short = "€".repeat(600);
    assert_eq!(
        events[1],
        format!("long/two Instant {{ scope: Some(Thread) }} a={short:?} b={short:?}")
    );
    assert_eq!(
        events[2], "long/\u{fffd}\u{20ac} Instant { scope: Some(Thread) } \u{fffd}=Int32(1)",
        "names are made UTF-8"
    );
}

/// A thread whose scope was announced would be stepped until its end, which is not announced.
#[cfg(target_arch = "x86_64")]
#[test]
fn begins_of_durations_announce_no_scopes() {
    let workshop = Workshop::new(&[]);
    let program = workshop.program("begins", &["begins.c"]);
    let recording = workshop.path("recording");
    let mut record = trace(&["insn", "record", "--in-scope", "web/request", "-o"]);
    let run = Run::of(record.arg(&recording).arg("--").arg(program));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("0 scopes of web/request"), "{run:?}");
    let begins = events(&recording.join("scopes.fxt"));
    assert_eq!(count(&begins, "web/request DurationBegin"), 3, "{begins:?}");
}
