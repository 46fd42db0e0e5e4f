//! XRay logs as inputs.

use std::time::Duration;

use trace_xray::layout::{Action, Version};
use trace_xray::map;
use trace_xray::write::{Anchor, Log, Stamp};
use trace_xray::{Format, FunctionId, Header};

use crate::harness::Place;

/// Returns a log of two threads: `main` calls `work` three times, and `work` starts once more.
pub(crate) fn log() -> Vec<u8> {
    let header = Header {
        format: Format::little(Version::V5),
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 1_000_000_000,
        buffer_size: 4096,
    };
    let anchor = Anchor { tsc: 0, time: Duration::ZERO };
    let mut log = Log::new(Vec::new(), header, anchor).unwrap();
    for thread in [71, 72] {
        let mut buffer = log.thread(70, thread);
        let mut time = 1000;
        let mut call = |action, number| {
            time += 100;
            let at = Stamp { tsc: time, cpu: 3 };
            log.function(&mut buffer, at, action, FunctionId::new(number).unwrap()).unwrap();
        };
        call(Action::Entry, 1);
        for _ in 0..3 {
            call(Action::Entry, 2);
            call(Action::Exit, 2);
        }
        call(Action::Exit, 1);
        call(Action::Entry, 2);
        log.write(&mut buffer).unwrap();
    }
    log.into_inner()
}

pub(crate) fn names() -> Vec<u8> {
    map::write(&["main", "work"], None).unwrap()
}

#[test]
fn every_command_reads_logs() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("app.map", &names());
    let stats = place.run(&["stats", "app.xray"]);
    let row =
        |name: &str| stats.stdout.lines().find(|line| line.ends_with(name)).map(str::to_owned);
    assert_eq!(row("xray:main").unwrap().split_whitespace().nth(1), Some("1.400µs"), "{stats:?}");
    assert_eq!(row("xray:work").unwrap().split_whitespace().next(), Some("6"), "{stats:?}");
    assert!(stats.stderr.contains("durations without an end, skipped: 2"), "{stats:?}");
    let check = place.run(&["check", "app.xray"]);
    assert!(check.code == 0 && check.stdout.contains("durations without an end: 2"), "{check:?}");
    let dump = place.run(&["dump", "app.xray"]);
    assert_eq!(dump.stdout.matches("duration-begin").count(), 10, "{dump:?}");
    for (command, output) in
        [("convert", "app.json"), ("timeline", "app.svg"), ("flamegraph", "f.svg")]
    {
        let run = place.run(&[command, "app.xray", "-o", output]);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(place.text(output).contains("work"), "{command}");
    }
    let converted = place.run(&["convert", "app.xray", "-o", "app.fxt"]);
    assert_eq!(converted.code, 0, "{converted:?}");
    assert_eq!(place.run(&["dump", "app.fxt"]).stdout, dump.stdout);
    let diff = place.run(&["diff", "app.fxt", "app.xray"]);
    assert_eq!(diff.code, 0, "{diff:?}");
}

#[test]
fn names_of_functions() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("other", &names());
    let numbers = place.run(&["dump", "app.xray"]);
    assert!(numbers.stdout.contains("\"#2\""), "{numbers:?}");
    assert!(numbers.stderr.contains("--instr-map BIN"), "{numbers:?}");
    let named = place.run(&["dump", "app.xray", "--instr-map", "other"]);
    assert!(named.stdout.contains("\"work\"") && named.stderr.is_empty(), "{named:?}");
    place.put(
        "app.map",
        b"- { id: 2, address: 0x5000, function: 0x5000, \
        kind: function-enter, always-instrument: true, function-name: yaml }",
    );
    let beside = place.run(&["dump", "app.xray"]);
    assert!(beside.stdout.contains("\"yaml\""), "{beside:?}");
    let both = place.run(&["dump", "app.xray", "--instr-map", "other"]);
    assert!(both.stdout.contains("\"work\""), "{both:?}");
    assert!(both.stderr.contains("app.map does not fit other: function #2"), "{both:?}");
    let missing = place.run(&["dump", "app.xray", "--instr-map", "app.xray"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("cannot read app.xray: "), "{missing:?}");
}

#[test]
fn a_damaged_log_is_a_loss() {
    let place = Place::new();
    let log = log();
    place.put("cut.xray", &log[..log.len() - 4]);
    let check = place.run(&["check", "cut.xray"]);
    assert_eq!(check.code, 3, "{check:?}");
    assert!(check.stdout.contains("the log is cut off at byte"), "{check:?}");
    assert!(check.stdout.contains("dropped records: 1"), "{check:?}");
}
