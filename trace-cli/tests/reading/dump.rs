//! `trace dump`

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use trace_format::EventKind;

use crate::harness::{cut, events, everything, good, Place, Run};

const GOOD: &str = r#"         0 - magic-number
         8 1 provider-info 1 "app"
        24 1 initialization 1000000 ticks/s
        40 1 kernel-object process #12 "./app"
        64 1 thread 1 12/34
        88 1 string 1 "net"
       104 1 string 2 "poll"
       120 1 string 3 "bytes"
       136 1 duration-complete 12/34 0.000005000s "net" "poll" 2000ns {"bytes": 64}
"#;

/// Returns an archive of some megabytes, more than a pipe's capacity.
pub(crate) fn large() -> Vec<u8> {
    events(100_000, |_| EventKind::DurationBegin)
}

#[test]
fn a_line_for_each_record() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let expected = Run { code: 0, stdout: GOOD.to_owned(), stderr: String::new() };
    assert_eq!(place.run(&["dump", "in.fxt"]), expected);
    assert_eq!(place.run_with(&["dump", "-"], &good()), expected);
}

/// A value is compared as text, and a number in either notation.
#[test]
fn arguments_select_events() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let dump = |line: &[&str]| place.run(&[&["dump", "in.fxt"], line].concat());
    let event = GOOD.lines().last().unwrap().to_owned() + "\n";
    assert_eq!(dump(&["--arg", "bytes=64"]).stdout, event);
    assert_eq!(dump(&["--arg", "bytes=0x40"]).stdout, event);
    assert_eq!(dump(&["--arg", "bytes=6"]).stdout, "");
    assert_eq!(dump(&["--arg", "bytes=64", "--arg", "path=/"]).stdout, "");
    assert_eq!(dump(&["--arg", "bytes"]).code, 2);
}

/// The times are those of `slice`: the first one is included, the last one is not.
#[test]
fn a_range_of_time_selects_records() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let names = |line: &[&str]| {
        let run = place.run(&[&["dump", "in.fxt"], line].concat());
        assert_eq!((run.code, &*run.stderr), (0, ""), "{line:?}");
        let event = |line: &str| {
            let mut words = line.split_whitespace().skip(2);
            let (kind, name) = (words.next().unwrap(), line.split('"').nth(3).unwrap());
            format!("{kind} {name}")
        };
        run.stdout.lines().map(event).collect::<Vec<_>>().join(", ")
    };
    // The first event is at 5 µs. The duration from 30 to 50 overlaps the range.
    let inner = "duration-complete inner, flow-begin hand over";
    assert_eq!(names(&["--from", "@40us", "--to", "@60us"]), inner);
    assert_eq!(names(&["--from", "35us", "--to", "55us"]), inner);
    assert_eq!(
        names(&["--from", "40us", "--to", "55us", "-t", "34", "-n", "inner"]),
        "duration-complete inner"
    );
    assert_eq!(names(&["--from", "80us"]), "async-end request");
    assert_eq!(names(&["--to", "6us"]), "duration-complete poll, async-begin request");
    let piped = place.run_with(&["dump", "-", "--from", "85us"], &everything());
    assert_eq!((piped.code, piped.stdout.lines().count()), (0, 1), "{piped:?}");
}

#[test]
fn a_range_of_time_without_records() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let outside = "trace: in.fxt: the range is outside of the trace\n\
                   hint: the first event is at @0.000005000s, and the trace is 85.00µs long\n";
    for range in [["--from", "1s"], ["--to", "@5us"]] {
        let run = place.run(&[&["dump", "in.fxt"], &range[..]].concat());
        assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", outside), "{range:?}");
    }
    let reversed = place.run(&["dump", "in.fxt", "--from", "2us", "--to", "1us"]);
    assert_eq!((reversed.code, &*reversed.stderr), (1, "trace: --from is not before --to\n"));
    assert_eq!(place.run(&["dump", "in.fxt", "--from", "soon"]).code, 2);
}

#[test]
fn more_conditions_than_are_distinguished_are_refused() {
    let place = Place::new();
    place.put("in.fxt", &good());
    for command in ["dump", "stats", "critical-path"] {
        let run = |count| {
            place.run(&[&[command, "in.fxt"], &["--arg", "k=v"].repeat(count)[..]].concat())
        };
        assert_ne!(run(32).code, 2, "{command}");
        let refused = run(33);
        assert_eq!(refused.code, 2, "{command}");
        assert!(
            refused.stderr.contains("--arg is given 33 times, at most 32"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn damage_is_reported_at_its_position() {
    let place = Place::new();
    place.put("in.fxt", &cut());
    let run = place.run(&["dump", "in.fxt"]);
    let damage = "the trace ends within the record at byte 136: 31 of 32 bytes\n";
    assert_eq!(run.code, 3);
    assert!(run.stdout.ends_with(&format!("\"bytes\"\n           ! {damage}")), "{}", run.stdout);
    let damage = damage.trim_end();
    let stderr = format!("trace: in.fxt: {damage}; the records before it are used\n");
    assert_eq!(run.stderr, stderr);
}

#[test]
fn records_after_a_malformed_one_are_printed() {
    let mut archive = good();
    // A clock of 0 ticks per second, then a provider section.
    for word in [0x21_u64, 0, 0x0000_0000_0092_0010] {
        archive.extend_from_slice(&word.to_le_bytes());
    }
    let run = Place::new().run_with(&["dump", "-"], &archive);
    let tail =
        "           ! malformed record at byte 168: the clock has 0 ticks per second\n       \
                184 9 provider-section 9\n";
    assert_eq!((run.code, run.stdout), (3, GOOD.to_owned() + tail));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let place = Place::new();
    place.put("in.fxt", &large());
    let mut command = place.command(&["dump", "in.fxt"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "         0 - magic-number\n");
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn standard_output_that_is_full() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&["dump", "in.fxt"]);
    let run = Run::of(command.stdout(full).stderr(Stdio::piped()).output().unwrap());
    let stderr = "trace: cannot write to standard output: no space left on device\n";
    assert_eq!((run.code, run.stderr.as_str()), (1, stderr));
}
