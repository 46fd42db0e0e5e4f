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
        map_id: 0,
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

/// Each log that no command reads has its reason.
#[test]
fn logs_that_cannot_be_read() {
    let place = Place::new();
    let changed = |at: usize, byte| {
        let mut log = log();
        log[at] = byte;
        // Fields that basic mode does not use.
        log[16..32].fill(0);
        log
    };
    for (log, reason) in [
        (changed(2, 0), "the log is of basic mode, not of flight data recorder"),
        (changed(0, 6), "version 6 is not supported"),
        (log()[..20].to_vec(), "the header is cut off after 20 bytes"),
    ] {
        place.put("app.xray", &log);
        for command in [&["stats", "app.xray"][..], &["xray", "account", "app.xray"]] {
            let run = place.run(command);
            let message = format!("cannot read app.xray: invalid header at byte 0: {reason}\n");
            assert!(run.code == 1 && run.stderr.contains(&message), "{run:?}");
        }
    }
}

#[test]
fn maps_without_functions_are_refused() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("empty", b"--- []\n...\n");
    let run = place.run(&["stats", "app.xray", "--instr-map", "empty"]);
    assert!(run.code == 1 && run.stderr.contains("cannot read empty: "), "{run:?}");
}

#[test]
fn deeply_nested_calls_are_counted() {
    const CALLS: u32 = 20_000;
    let header = Header {
        format: Format::little(Version::V5),
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 1_000_000_000,
        buffer_size: 1 << 20,
        map_id: 0,
    };
    let mut log = Log::new(Vec::new(), header, Anchor { tsc: 0, time: Duration::ZERO }).unwrap();
    let mut buffer = log.thread(70, 71);
    for call in 0..2 * CALLS {
        let action = if call < CALLS { Action::Entry } else { Action::Exit };
        let at = Stamp { tsc: 1000 + u64::from(call), cpu: 3 };
        log.function(&mut buffer, at, action, FunctionId::new(1).unwrap()).unwrap();
    }
    log.write(&mut buffer).unwrap();
    let place = Place::new();
    place.put("app.xray", &log.into_inner());
    let stats = place.run(&["stats", "app.xray"]);
    let row = stats.stdout.lines().find(|line| line.ends_with("xray:#1")).unwrap();
    assert_eq!(row.split_whitespace().next(), Some("20000"), "{stats:?}");
    let account = place.run(&["xray", "account", "app.xray", "-f", "csv"]);
    assert!(account.stdout.contains("\n1,20000,"), "{account:?}");
}

#[test]
fn a_report_goes_to_a_file() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("names", &names());
    for command in
        [&["account", "-s", "sum", "-p", "1"][..], &["stack", "--all-stacks"], &["graph"]]
    {
        let command = [&["xray"], command, &["app.xray", "-m", "names"]].concat();
        let printed = place.run(&command);
        let written = place.run(&[&command[..], &["-o", "report"]].concat());
        assert_eq!((written.code, &*written.stdout), (printed.code, ""), "{written:?}");
        assert_eq!(place.text("report"), printed.stdout);
    }
    let map = place.run(&["xray", "map", "names"]);
    let written = place.run(&["xray", "map", "names", "--output", "report"]);
    assert_eq!((written.code, &*written.stdout), (0, ""), "{written:?}");
    assert_eq!(place.text("report"), map.stdout);
    for (report, file) in [("account", "app.xray"), ("map", "names")] {
        let same = place.run(&["xray", report, file, "-o", file]);
        assert!(same.code != 0 && same.stderr.contains("both input and output"), "{same:?}");
    }
    let none = place.run(&["xray", "map", "app.xray", "-o", "none"]);
    assert!(none.code == 1 && !place.path("none").exists(), "{none:?}");
    let recursive = place.run(&["xray", "account", "app.xray", "--recursive-calls-only"]);
    assert!(recursive.stdout.starts_with("Functions with latencies: 0\n"), "{recursive:?}");
}

/// The functions of a program are numbered by its sleds, those of a recording in their order.
#[test]
fn a_program_does_not_name_the_functions_of_a_recording() {
    let place = Place::new();
    place.put("app.fxt", &crate::harness::good());
    assert_eq!(place.run(&["convert", "app.fxt", "-o", "app.xray"]).code, 0);
    // It has sleds, but which ones does not matter.
    let program = include_bytes!("../../../fuzz/corpus/xray-map/library.elf");
    place.put("program", program);
    for arguments in [&["dump", "app.xray"][..], &["xray", "account", "app.xray"]] {
        let wrong = place.run(&[arguments, &["--instr-map", "program"]].concat());
        assert!(
            wrong.stderr.contains("names may be wrong: the functions of app.xray"),
            "{wrong:?}"
        );
        let right = place.run(&[arguments, &["--instr-map", "app.map"]].concat());
        assert!(!right.stderr.contains("names may be wrong"), "{right:?}");
    }
    // The map of another log is reported, beside the log and as an option: it has another id.
    place.put("other.fxt", &crate::harness::good()[..]);
    place.put("llvm.xray", &log());
    for (from, to) in [("llvm.xray", "again.fxt"), ("again.fxt", "again.xray")] {
        assert_eq!(place.run(&["convert", from, "-o", to]).code, 0);
    }
    let other = place.run(&["dump", "app.xray", "--instr-map", "again.map"]);
    assert!(other.stderr.contains("not those of again.map"), "{other:?}");
    place.put("app.map", &std::fs::read(place.path("again.map")).unwrap());
    let beside = place.run(&["dump", "app.xray"]);
    assert!(beside.stderr.contains("not those of app.map"), "{beside:?}");
    assert!(!place.run(&["dump", "again.xray"]).stderr.contains("names may be wrong"));
    // It also has CPUs.
    let program = place.run(&["dump", "again.xray", "--instr-map", "program"]);
    assert!(program.stderr.contains("the functions of again.xray"), "{program:?}");
    // A log of LLVM's runtime has the ids of its program.
    place.put("other.xray", &log());
    let other = place.run(&["dump", "other.xray", "--instr-map", "program"]);
    assert!(!other.stderr.contains("names may be wrong"), "{other:?}");
}

/// A log of LLVM's runtime has no id of its map: only functions that are missing show that it is
/// another one.
#[test]
fn a_map_without_functions_of_the_log_is_reported() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("small.map", &map::write(&["main"], None).unwrap());
    place.put("app.map", &names());
    for command in [["account", ""], ["stack", "--all-stacks"], ["graph", ""]] {
        let command = command.into_iter().filter(|it| !it.is_empty());
        let arguments: Vec<_> = ["xray"].into_iter().chain(command).chain(["app.xray"]).collect();
        let run = |map| place.run(&[&arguments[..], &["--instr-map", map]].concat());
        let small = run("small.map");
        assert!(small.stderr.contains("1 functions of app.xray are not in the map"), "{small:?}");
        assert_eq!((small.code, run("app.map").stderr.contains("may be wrong")), (0, false));
    }
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

#[test]
fn reports_of_llvm_xray() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("app.map", &names());
    let account = place.run(&["xray", "account", "app.xray", "--sort", "sum", "--top", "1"]);
    let row: Vec<_> = account.stdout.lines().last().unwrap().split_whitespace().collect();
    assert_eq!((row[0], row[1], row.last()), ("1", "2", Some(&"main")), "{account:?}");
    assert!(account.stderr.contains("calls without an end, skipped: 2"), "{account:?}");
    let csv = place.run(&["xray", "account", "app.xray", "--format", "csv"]);
    assert!(csv.stdout.ends_with(",6.000000e-07,\"\",\"work\"\n"), "{csv:?}");
    let stack = place.run(&["xray", "stack", "app.xray"]);
    assert!(stack.stdout.contains("Unique Stacks: 2"), "{stack:?}");
    let threads = place.run(&["xray", "stack", "app.xray", "--per-thread-stacks"]);
    assert!(threads.stdout.contains("Thread 72:\n\nUnique Stacks: 1"), "{threads:?}");
    let all = ["xray", "stack", "app.xray", "--all-stacks", "--aggregate-threads"];
    assert_eq!(place.run(&all).stdout, "main; 1400\nmain;work; 600\nwork; 0\n");
    let count = [&all[..], &["--aggregation-type", "count"]].concat();
    assert_eq!(place.run(&count).stdout, "main; 2\nmain;work; 6\nwork; 0\n");
    let graph = place.run(&["xray", "graph", "app.xray", "--edge-label", "count"]);
    assert!(graph.stdout.contains("F1 -> F2 [label=\"6\"];"), "{graph:?}");
    let map = place.run(&["xray", "map", "app.map"]);
    assert!(map.stdout.contains("function-name: work"), "{map:?}");
    place.put("other.fxt", &crate::harness::good());
    let wrong = place.run(&["xray", "account", "other.fxt"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("is not a log of XRay"), "{wrong:?}");
}

#[test]
fn an_archive_becomes_a_log() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("app.map", &names());
    assert_eq!(place.run(&["convert", "app.xray", "-o", "app.fxt"]).code, 0);
    let back = place.run(&["convert", "app.fxt", "-o", "back.xray"]);
    assert_eq!(back.code, 0, "{back:?}");
    assert!(back.stderr.contains("10 calls and "), "{back:?}");
    assert!(back.stderr.contains("without an end, written as entries: 2"), "{back:?}");
    // The ids differ.
    let account = |log| {
        let text = place.run(&["xray", "account", log, "--sort", "func"]).stdout;
        let rows = text.lines().skip(2).filter_map(|row| row.get(9..).map(str::to_owned));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(account("app.xray").len(), 2);
    assert_eq!(account("back.xray"), account("app.xray"));
    let again = place.run(&["convert", "back.xray", "-o", "again.xray"]);
    assert!(again.code == 1 && again.stderr.contains("is an XRay log already"), "{again:?}");
    let standard = place.run(&["convert", "app.fxt", "--to", "xray", "-o", "-"]);
    assert!(standard.code == 1 && standard.stderr.contains("choose a file"), "{standard:?}");
}

#[test]
fn other_files_beside_a_log_are_no_maps() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("app.map", b"Memory Configuration\n\nName Origin Length\n");
    let dump = place.run(&["dump", "app.xray"]);
    assert!(dump.code == 0 && dump.stdout.contains("\"#2\""), "{dump:?}");
    assert!(dump.stderr.contains("cannot read app.map: "), "{dump:?}");
    let named = place.run(&["dump", "app.xray", "--instr-map", "app.map"]);
    assert!(named.code == 1 && named.stderr.contains("cannot read app.map: "), "{named:?}");
}

#[test]
fn a_map_replaces_maps_only() {
    let place = Place::new();
    place.put("in.fxt", &crate::harness::good());
    let same = place.run(&["convert", "in.fxt", "--to", "xray", "-o", "same.map"]);
    assert!(same.code == 1 && same.stderr.contains("has the same name"), "{same:?}");
    let convert = ["convert", "in.fxt", "-o", "app.xray"];
    place.put("app.map", b"Memory Configuration\n");
    let other = place.run(&convert);
    assert!(other.code == 1 && other.stderr.contains("cannot replace app.map"), "{other:?}");
    assert_eq!(place.text("app.map"), "Memory Configuration\n");
    place.put("app.map", &names());
    assert_eq!(place.run(&convert).code, 0);
}

/// The commands that read a log read its YAML with the same result.
#[test]
fn every_command_reads_yaml() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("app.map", &names());
    let converted = place.run(&["convert", "app.xray", "-o", "app.yaml"]);
    assert_eq!(converted.code, 0, "{converted:?}");
    assert!(converted.stderr.contains("18 entries and exits and 0 events"), "{converted:?}");
    assert!(place.text("app.yaml").contains("func-id: 2, function: work, cpu: 3, thread: 71"));
    for command in [
        &["dump"][..],
        &["stats"],
        &["check"],
        &["xray", "account"],
        &["xray", "stack"],
        &["xray", "graph"],
    ] {
        let [log, yaml] =
            ["app.xray", "app.yaml"].map(|file| place.run(&[command, &[file]].concat()));
        let plain = |text: &str| text.replace("app.yaml", "app.xray");
        // The wall clock is not in YAML, so strings have other numbers, and records other offsets.
        let without = |text: &str| {
            let is_same = |line: &&str| !line.contains("wall clock") && !line.contains(" string ");
            let lines = text.lines().filter(is_same);
            let lines = lines.filter_map(|line| line.trim_start().split_once(' '));
            lines.map(|(_, line)| line.to_owned()).collect::<Vec<_>>()
        };
        if command == ["dump"] {
            assert_eq!(without(&yaml.stdout), without(&log.stdout));
        } else if command != ["check"] {
            assert_eq!(yaml.stdout, log.stdout, "{command:?}");
        }
        assert_eq!((yaml.code, plain(&yaml.stderr)), (log.code, log.stderr), "{command:?}");
    }
    for output in ["app.fxt", "back.xray", "app.json", "app.csv", "app.svg"] {
        let command = if output == "app.svg" { "timeline" } else { "convert" };
        let run = place.run(&[command, "app.yaml", "-o", output]);
        assert_eq!(run.code, 0, "{run:?}");
    }
    let account = |log| place.run(&["xray", "account", log]).stdout;
    assert_eq!(account("back.xray"), account("app.xray"));
    // From an archive, and back to standard output, with another version.
    let archive = ["convert", "app.fxt", "--format", "yaml", "-o", "-"];
    assert_eq!(place.run(&archive).stdout.matches("kind: function-enter,").count(), 10);
    let other =
        place.run(&["convert", "app.yaml", "--to", "yaml", "-o", "-", "--log-version", "5"]);
    let expected = place.text("app.yaml").replace("version:         1", "version:         5");
    assert_eq!(other.stdout, expected, "{other:?}");
    let same = place.run(&["convert", "app.yaml", "-o", "other.yml"]);
    assert!(same.code == 1 && same.stderr.contains("is YAML already"), "{same:?}");
}

#[test]
fn names_of_functions_in_yaml() {
    let place = Place::new();
    place.put("app.xray", &log());
    place.put("other", &names());
    assert_eq!(place.run(&["convert", "app.xray", "-o", "app.yaml"]).code, 0);
    let numbers = place.run(&["dump", "app.yaml"]);
    assert!(numbers.stdout.contains("\"#2\""), "{numbers:?}");
    assert_eq!(numbers.stderr.matches("--instr-map BIN").count(), 1, "{numbers:?}");
    let named = place.run(&["dump", "app.yaml", "--instr-map", "other"]);
    assert!(named.stdout.contains("\"work\"") && named.stderr.is_empty(), "{named:?}");
    place.put("cut.yaml", &place.text("app.yaml").as_bytes()[..1000]);
    let cut = place.run(&["dump", "cut.yaml"]);
    assert!(cut.code == 1 && cut.stderr.contains("cannot read cut.yaml: line "), "{cut:?}");
}
