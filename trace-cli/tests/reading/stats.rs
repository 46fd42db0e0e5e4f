//! `trace stats`

use std::process::Stdio;

use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};

use crate::harness::{cut, events, everything, good, lossy, Place, Run};

const GOOD: &str = "\
durations
COUNT    TOTAL     SELF     MEAN      P50      P90      P99    P99.9      MAX  NAME
    1  2.000µs  2.000µs  2.000µs  2.000µs  2.000µs  2.000µs  2.000µs  2.000µs  net:poll
";

#[test]
fn a_table() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let expected = Run { code: 0, stdout: GOOD.to_owned(), stderr: String::new() };
    assert_eq!(place.run(&["stats", "in.fxt"]), expected);
    assert_eq!(place.run_with(&["stats", "-"], &good()), expected);
}

#[test]
fn losses_are_reported() {
    let run = Place::new().run_with(&["stats", "-"], &lossy());
    assert_eq!((run.code, run.stdout.as_str()), (0, GOOD));
    assert_eq!(
        run.stderr,
        "trace: -: durations without an end, skipped: 1\n\
         trace: -: records dropped during recording: 40\n\
         trace: -: buffers that became full during recording: 1\n"
    );
    let json = Place::new().run_with(&["stats", "--json", "-"], &lossy());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["records_dropped"], 40);
    assert_eq!(json["complete"], false);
    assert_eq!(json["durations"][0]["p99.9_ns"], 2000);
}

#[test]
fn readable_records_are_used() {
    let run = Place::new().run_with(&["stats", "-"], &cut());
    assert_eq!((run.code, run.stdout.as_str()), (3, "no such events\n"));
    assert_eq!(
        run.stderr,
        "trace: -: the trace ends within the record at byte 136: 31 of 32 bytes; \
         the records before it are used\n"
    );
}

#[test]
fn values_for_spreadsheets() {
    let run = Place::new().run_with(&["stats", "--csv", "--by", "thread", "-"], &good());
    let expected = "\
kind,category,name,process,process_name,thread,thread_name,count,total_ns,self_ns,on_cpu_ns,mean_ns,min_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,max_ns
duration,net,poll,12,./app,34,,1,2000,2000,,2000,2000,2000,2000,2000,2000,2000
";
    assert_eq!(run, Run { code: 0, stdout: expected.to_owned(), stderr: String::new() });
}

#[test]
fn categories_can_be_left_out() {
    let run = Place::new().run_with(&["stats", "-c", "-net", "-"], &good());
    assert_eq!(run.stdout, "no such events\n");
    let run = Place::new().run_with(&["stats", "--limit", "0", "-"], &good());
    assert_eq!(run.stdout, "no such events\n");
}

#[test]
fn standard_output_that_is_full() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&["stats", "in.fxt"]);
    let run = Run::of(command.stdout(full).stderr(Stdio::piped()).output().unwrap());
    let stderr = "trace: cannot write to standard output: no space left on device\n";
    assert_eq!((run.code, run.stderr.as_str()), (1, stderr));
}

#[test]
fn an_unknown_category_is_reported() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let run = place.run(&["stats", "in.fxt", "-c", "nit"]);
    let message = "trace: no event of category 'nit'\nhint: the categories are net\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", message));
    let piped = place.run_with(&["stats", "-", "-c", "nit"], &everything());
    assert_eq!((piped.code, &*piped.stdout, &*piped.stderr), (1, "", message));
    let pattern = place.run(&["stats", "in.fxt", "-c", "nit*"]);
    assert_eq!((pattern.code, &*pattern.stdout), (0, "no such events\n"), "{pattern:?}");
    assert!(pattern.stderr.contains("no event of category 'nit*'"), "{pattern:?}");
    assert_eq!(place.run(&["stats", "in.fxt", "-c", "n*,-nit"]).stderr, "");
}

#[test]
fn instants_are_counted() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let stats = |line: &[&str]| place.run(&[&["stats", "in.fxt", "--instants"], line].concat());
    let run = stats(&[]);
    let text = "instants\nCOUNT  NAME\n    1  net:moment\n";
    assert_eq!(run, Run { code: 0, stdout: text.to_owned(), stderr: String::new() });
    let csv = "category,name,process,process_name,count\nnet,moment,12,./app,1\n";
    assert_eq!(stats(&["--csv", "--by", "process"]).stdout, csv);
    let text = "instants\nCOUNT  NAME        BY\n    1  net:moment  ./app (12)\n";
    assert_eq!(stats(&["--by", "process"]).stdout, text);
    assert_eq!(stats(&["-c", "-net"]).stdout, "no such events\n");
    assert_eq!(stats(&["--flows"]).code, 2);
    assert_eq!(stats(&["--counters"]).code, 2);
}

#[test]
fn the_slowest_have_arguments_thread_and_time() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let stdout = "\
durations
COUNT    TOTAL     SELF     MEAN      P50      P90      P99    P99.9      MAX  NAME
    1  40.00µs  20.00µs  40.00µs  40.00µs  40.00µs  40.00µs  40.00µs  40.00µs  net:outer

async operations
COUNT    TOTAL     MEAN      P50      P90      P99    P99.9      MAX  NAME
    1  80.00µs  80.00µs  80.00µs  80.00µs  80.00µs  80.00µs  80.00µs  net:request

slowest
 LENGTH         BEGIN  NAME                 THREAD           ARGUMENTS
80.00µs  0.000010000s  net:request id 0x2a  ./app (12) / 34  depth=3 depth=3
40.00µs  0.000020000s  net:outer            ./app (12) / 34  depth=3 depth=3
";
    let run = place.run(&["stats", "in.fxt", "--slowest", "2"]);
    assert_eq!(run, Run { code: 0, stdout: stdout.to_owned(), stderr: String::new() });
    let run = place.run(&["stats", "in.fxt", "--slowest", "1", "-n", "poll", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json[0]["arguments"]["bytes"], &json[0]["length_ns"]), (&64.into(), &2000.into()));
    let run = place.run(&["stats", "in.fxt", "--slowest", "1", "-n", "absent"]);
    let message = "trace: no event is named 'absent'\n".to_owned();
    assert_eq!(run, Run { code: 1, stdout: String::new(), stderr: message });
}

/// There are durations of 40 µs, 20 µs and 2 µs, and an operation of 80 µs.
#[test]
fn long_ones_are_counted() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let counts = |line: &[&str]| {
        let run = place.run(&[&["stats", "in.fxt", "--json"], line].concat());
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let names = |kind: &str| {
            let row = |row: &serde_json::Value| format!("{} {}", row["count"], row["name"]);
            json[kind].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
        };
        [names("durations"), names("async"), names("instants")].concat()
    };
    assert!(counts(&[]).len() > 4, "{:?}", counts(&[]));
    assert_eq!(counts(&["--over", "1999ns"]).len(), 4);
    assert_eq!(counts(&["--over", "2us"]).len(), 3);
    assert_eq!(counts(&["--over", "20us"]), ["1 \"outer\"", "1 \"request\""]);
    assert_eq!(counts(&["--over", "40us"]), ["1 \"request\""]);
    let slowest = place.run(&["stats", "in.fxt", "--slowest", "9", "--over", "40us"]);
    let (_, slowest) = slowest.stdout.split_once("slowest\n").unwrap();
    assert_eq!(slowest.lines().count(), 2, "{slowest:?}");
    assert_eq!(place.run(&["stats", "in.fxt", "--over", "1h"]).stdout, "no such events\n");
}

/// A name whose durations are all short is known.
#[test]
fn names_without_long_ones_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    for way in [&[][..], &["--slowest", "5"], &["--csv"], &["--limit", "1"]] {
        let stats = |line: &[&str]| place.run(&[&["stats", "in.fxt"], line, way].concat());
        let run = stats(&["-n", "outer", "--over", "1.5ms"]);
        assert_eq!((run.code, &*run.stderr), (0, "trace: no 'outer' takes longer than 1.5 ms\n"));
        let run = stats(&["-n", "net:outer,net:request", "--over", "5s"]);
        assert_eq!(run.stderr.matches(" takes longer than 5 s\n").count(), 2, "{run:?}");
        let unknown = stats(&["-n", "otter", "--over", "5s"]);
        assert!(unknown.code == 1 && unknown.stdout.is_empty(), "{unknown:?}");
        assert!(unknown.stderr.starts_with("trace: no event is named 'otter'"), "{unknown:?}");
        // One of them is longer, whatever is shown.
        let run = stats(&["-n", "inner,request", "--over", "10us"]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{way:?}");
    }
}

#[test]
fn times_without_a_unit_are_refused() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    for line in [
        &["stats", "in.fxt", "--over", "5"][..],
        &["stats", "in.fxt", "--at", "5"],
        &["stats", "in.fxt", "--at", "@5"],
        &["slice", "in.fxt", "-o", "out.fxt", "--from", "0.5"],
        &["slice", "in.fxt", "-o", "out.fxt", "--id", "42", "--around", "5"],
        &["dump", "in.fxt", "--to", "5"],
        &["top", "--live", "--window", "5"],
        &["record", "--stop-timeout", "5"],
    ] {
        let run = place.run(line);
        assert!(run.code == 2 && run.stderr.contains("has no unit: use '"), "{run:?}");
    }
    let zero = place.run(&["slice", "in.fxt", "-o", "out.fxt", "--from", "0"]);
    assert_eq!(zero.code, 0, "{zero:?}");
}

#[test]
fn an_unknown_argument_is_refused() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let run = place.run(&["stats", "in.fxt", "--by", "arg:byte"]);
    let message = "trace: no event has the argument 'byte'\n\
                   hint: list arguments with trace info in.fxt\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", message));
    let known = place.run(&["stats", "in.fxt", "--by", "arg:bytes"]);
    assert_eq!((known.code, &*known.stderr), (0, ""), "{known:?}");
}

/// The durations and operations at a time are those that last at it, the outermost first.
#[test]
fn a_time_shows_what_lasts_then() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let stats = |line: &[&str]| place.run(&[&["stats", "in.fxt"], line].concat());
    let lines = |line: &[&str]| stats(line).stdout.matches("  ./app (12) / 34").count();
    let run = stats(&["--at", "@25us"]);
    assert!(run.code == 0 && run.stdout.contains("net:request id 0x2a"), "{run:?}");
    assert!(run.stdout.contains("net:outer"), "{run:?}");
    // The limit is that of each table.
    assert_eq!((lines(&["--at", "@35us"]), lines(&["--at", "@35us", "--slowest", "1"])), (3, 2));
    let run = stats(&["--at", "@35us", "--limit", "1"]);
    let note = "trace: not shown: 1 duration\nhint: --limit 2 shows them\n";
    assert_eq!((&*run.stderr, lines(&["--at", "@35us", "--limit", "1"])), (note, 2), "{run:?}");
    let (durations, operations) = run.stdout.split_once("\n\nasync operations\n").unwrap();
    assert!(durations.starts_with("durations\n") && durations.contains("net:outer"), "{run:?}");
    assert!(operations.contains("net:request id 0x2a"), "{run:?}");
    // Times are relative to the first event if that of the option is.
    assert!(stats(&["--at", "@25us"]).stdout.contains("  0.000010000s  net:request"), "{run:?}");
    assert!(stats(&["--at", "20us"]).stdout.contains("  0.000005000s  net:request"), "{run:?}");
    let late = stats(&["--at", "@10s"]);
    let hint = "hint: the first event is at @0.000005000s, and the trace is 85.00µs long\n";
    let message = format!("trace: --at is outside of the trace\n{hint}");
    assert_eq!(late, Run { code: 1, stdout: String::new(), stderr: message });
    // The first event of the archive counts, not that of the selected threads.
    assert_eq!(stats(&["--at", "20us", "-t", "34"]).stdout, stats(&["--at", "20us"]).stdout);
    let piped = place.run_with(&["stats", "-", "--at", "20us"], &everything());
    assert!(piped.code == 1 && piped.stderr.contains("such as --at @1.5s"), "{piped:?}");
    let piped = place.run_with(&["stats", "-", "--at", "@25us"], &everything());
    assert_eq!(piped.stdout, stats(&["--at", "@25us"]).stdout);
}

#[test]
fn a_time_with_many_durations_shows_the_longest() {
    let place = Place::new();
    place.put("in.fxt", &events(1000, |_| EventKind::DurationComplete { end: 1 << 40 }));
    let run = place.run(&["stats", "in.fxt", "--at", "@2s"]);
    assert_eq!((run.stdout.lines().count(), &*run.stderr), (1002, ""), "all");
    place.put("in.fxt", &events(1001, |_| EventKind::DurationComplete { end: 1 << 40 }));
    let run = place.run(&["stats", "in.fxt", "--at", "@2s"]);
    assert_eq!(run.stdout.lines().count(), 1002, "with a heading and a head");
    let note = "trace: not shown: 1 duration\nhint: --limit 1001 shows them\n";
    assert_eq!(run.stderr, note);
    let run = place.run(&["stats", "in.fxt", "--at", "@2s", "--slowest", "2000"]);
    assert_eq!((run.stdout.lines().count(), &*run.stderr), (1003, ""));
}

/// The rate is the count in the time from the first event to the last one.
#[test]
fn rates_are_counts_per_second() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let stats = |line: &[&str]| place.run(&[&["stats", "in.fxt", "--rate"], line].concat());
    let run = stats(&[]);
    let head = run.stdout.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(head[..4], ["COUNT", "PER", "S", "TOTAL"], "{run:?}");
    // One in 85 µs.
    assert!(run.stdout.lines().any(|line| line.trim().starts_with("1  11765  40.00")), "{run:?}");
    assert!(stats(&["--instants"]).stdout.contains("1  11765  net:moment"));
    let piped = place.run_with(&["stats", "-", "--rate"], &everything());
    assert_eq!(piped.stdout, run.stdout);
}

/// A burst of one thread must not have another rate than its events.
#[test]
fn rates_do_not_depend_on_the_selection() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let burst = (0..100).map(|number| (500_000_000 + number, 2, "burst"));
    let around = [(0, 1, "start"), (1_000_000_000, 1, "end")];
    for (ticks, thread, name) in around.into_iter().chain(burst) {
        let thread = Thread::Inline(ThreadKoids::new(1, thread));
        let kind = EventKind::Instant { scope: None };
        let (category, name, arguments) = (name.into(), name.into(), Arguments::NONE);
        writer.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let archive = writer.into_inner();
    let place = Place::new();
    place.put("in.fxt", &archive);
    for selection in [&[][..], &["-t", "2"], &["-n", "burst"], &["-c", "burst"]] {
        let stats = |file| [&["stats", file, "--rate", "--instants"], selection].concat();
        let run = place.run(&stats("in.fxt"));
        let row = run.stdout.lines().find(|line| line.contains("burst")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>()[..2], ["100", "100"], "{run:?}");
        assert_eq!(place.run_with(&stats("-"), &archive).stdout, run.stdout);
    }
}

#[test]
fn the_slowest_are_warned_about_as_in_the_table() {
    let place = Place::new();
    place.put("in.fxt", &lossy());
    let run = place.run(&["stats", "in.fxt", "--slowest", "1", "-c", "nat*"]);
    assert!(run.stderr.contains("no event of category 'nat*'"), "{run:?}");
    assert!(run.stderr.contains("durations without an end, skipped: 1"), "{run:?}");
}

/// The age of what is open at a time, in text and JSON.
#[test]
fn ages_at_a_time() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let run = place.run(&["stats", "in.fxt", "--at", "@45us", "-n", "outer"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[1].starts_with(" LENGTH      AGE         BEGIN  NAME"), "{run:?}");
    assert!(lines[2].starts_with("40.00µs  25.00µs  0.000020000s  net:outer"), "{run:?}");
    let json = place.run(&["stats", "in.fxt", "--at", "@45us", "-n", "outer", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["instances"][0]["age_ns"], 25_000);
    let slowest = place.run(&["stats", "in.fxt", "--slowest", "1"]).stdout;
    assert!(!slowest.contains("AGE"), "{slowest}");
}
