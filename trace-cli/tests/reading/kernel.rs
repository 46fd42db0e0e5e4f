//! Recordings of trace-cmd as inputs.

use std::path::Path;

use crate::harness::{Place, Run};

/// Returns the path of a file of `trace-kernel`'s tests.
fn file(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-kernel/tests/trace-cmd");
    directory.join(name).into_os_string().into_string().unwrap()
}

#[test]
fn all_records_of_a_recording() {
    let report = std::fs::read(file("report.txt")).unwrap();
    let report = String::from_utf8_lossy(&report);
    let place = Place::new();
    let mut dumps = Vec::new();
    for name in ["v6.dat", "v7-zstd.dat"] {
        let converted = place.run(&["convert", &file(name), "-o", "kernel.fxt"]);
        assert_eq!((converted.code, &*converted.stderr), (0, ""), "{converted:?}");
        let check = place.run(&["check", "kernel.fxt"]);
        assert!(!check.stderr.contains("damage"), "{check:?}");
        dumps.push(place.run(&["dump", "kernel.fxt"]).stdout);
        let direct = place.run(&["dump", &file(name)]);
        assert_eq!(Some(&direct.stdout), dumps.last());
    }
    assert_eq!(dumps[0], dumps[1]);
    let events = |name: &str| report.matches(&format!(" {name}: ")).count();
    let records = |text: &str| dumps[0].matches(text).count();
    assert_eq!(records(" context-switch "), events("sched_switch"));
    // A thread that is woken without `sched_waking` is woken by its creation.
    let wakeups = events("sched_waking") + events("sched_wakeup_new");
    assert!((events("sched_waking")..=wakeups).contains(&records(" thread-wakeup ")));
    assert_eq!(records("\"atrace\" \"marker\" thread {\"text\": \"marker\"}"), 1);
    let others = records("\"kernel:event:sched/sched_stat_runtime\" \"sched_stat_runtime\" ");
    assert_eq!(others, events("sched_stat_runtime"));
}

#[test]
fn system_calls_have_statistics() {
    let place = Place::new();
    let stats = place.run(&["stats", &file("v7-zstd.dat")]);
    assert_eq!(stats.code, 0, "{stats:?}");
    // The sleeping system call, clock_nanosleep, of two processes.
    assert!(stats.stdout.contains("syscall 230"), "{stats:?}");
}

#[test]
fn a_truncated_recording() {
    let place = Place::new();
    let whole = std::fs::read(file("v6.dat")).unwrap();
    place.put("cut.dat", &whole[..whole.len() / 3]);
    for command in [&["stats", "cut.dat"][..], &["convert", "cut.dat", "-o", "out.fxt"]] {
        let run = place.run(command);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("cannot read cut.dat: the file is truncated"), "{run:?}");
    }
    assert_eq!(place.names(), ["cut.dat"]);
}

#[test]
fn no_place_for_the_temporary_file() {
    let place = Place::new();
    let mut process = place.command(&["convert", &file("v6.dat"), "-o", "out.fxt"]);
    let run = Run::of(process.env("TMPDIR", "/missing").output().unwrap());
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("a temporary file in /missing"), "{run:?}");
}
