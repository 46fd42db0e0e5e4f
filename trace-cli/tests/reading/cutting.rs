//! `trace slice` and `trace merge`

use trace_format::{Arguments, Event, EventKind, Log, Thread, ThreadKoids, ThreadWakeup, Writer};

use crate::harness::{cut, everything, good, lossy, Place, Run};

#[test]
fn a_slice_is_an_archive() {
    let place = Place::new();
    place.put("in.fxt", &lossy());
    let run = place.run(&["slice", "in.fxt", "-n", "poll", "-o", "out.fxt.gz"]);
    let stderr = "trace: 2 of 3 events kept, and 1 of 1 other record\n\
                  trace: in.fxt: records dropped during recording: 40\n\
                  trace: in.fxt: buffers that became full during recording: 1\n";
    assert_eq!(run, Run { code: 0, stdout: String::new(), stderr: stderr.to_owned() });
    // Losses of the archive are losses of the slice.
    let check = place.run(&["check", "out.fxt.gz"]);
    assert_eq!(check.code, 3, "{check:?}");
    assert!(check.stdout.contains("dropped records: 40"), "{check:?}");
    assert!(!check.stdout.contains("have not ended"), "{check:?}");
}

#[test]
fn by_time_process_and_thread() {
    let place = Place::new();
    place.put("in.fxt", &good());
    // The one event is from 5 to 7 µs.
    let kept = |arguments: &[&str]| {
        let line: Vec<&str> =
            ["slice", "in.fxt", "-o", "-"].iter().chain(arguments).copied().collect();
        let command = place.command(&line).output().unwrap();
        assert!(command.status.success(), "{command:?}");
        place.put("out.fxt", &command.stdout);
        let check = place.run(&["check", "out.fxt"]);
        assert_eq!(check.code, 0, "{check:?}");
        check.stdout.contains("1 event,")
    };
    assert!(kept(&["--from", "1us"]) && kept(&["--from", "@6us", "--to", "@6500ns"]));
    assert!(kept(&["-p", "./app"]) && kept(&["-p", "12"]) && kept(&["-t", "34"]));
    assert!(kept(&["-c", "n*"]) && !kept(&["-c", "-net"]));
}

/// `good` has one event, of the category net, 2 µs long.
#[test]
fn empty_slices_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("empty.fxt", &Writer::new(Vec::new()).unwrap().into_inner());
    let messages = |line: &[&str]| {
        let run = place.run(&[&["slice"], line, &["-o", "out.fxt"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let none = ["trace: the slice has no events", "hint: the trace is 2.000µs long"];
    for line in [["-n", "-poll"], ["-c", "-net"]] {
        assert_eq!(messages(&[&["in.fxt"], &line[..]].concat()), none, "{line:?}");
    }
    assert_eq!(
        messages(&["empty.fxt"]),
        ["trace: the slice has no events, and neither has the trace"]
    );
    assert_eq!(messages(&["in.fxt", "-c", "n*,-nit"]), [""; 0]);
}

/// The hint to durations that are kept whole.
const CUT: &str = "hint: --clip cuts them, so that viewers open on this range";

#[test]
fn the_range_and_its_borders_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let messages = |options: &[&str]| {
        let run = place.run(&[&["slice", "in.fxt", "-o", "out.fxt"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // The first event is at 5 µs. The operation lasts from 10 to 90, `outer` from 20 to 60, and
    // `inner` from 30 to 50.
    let range = "trace: from 0.000035000s to 0.000060000s; 3 durations and operations overlap the \
                 borders";
    assert_eq!(
        messages(&["--from", "@40us", "--to", "@65us"]),
        [format!("{range}, kept whole"), CUT.to_owned()]
    );
    let options = ["--from", "35us", "--to", "60us", "--clip"];
    assert_eq!(messages(&options), [format!("{range}, cut there")]);
    let range = "trace: from 0.000050000s to 0.000085000s; ";
    let one = "1 duration or operation overlaps the borders, kept whole";
    assert_eq!(
        messages(&["--from", "@55us", "-n", "outer"]),
        [format!("{range}{one}"), CUT.to_owned()]
    );
    let none = "no duration or operation overlaps the borders";
    assert_eq!(messages(&["--from", "@55us", "-n", "queue"]), [format!("{range}{none}")]);
    assert_eq!(messages(&["-n", "queue"]), [""; 0]);
    assert_eq!(messages(&["--from", "0%", "--to", "100%"]), [""; 0]);
    // 5 µs around the operation is more than the trace.
    assert_eq!(messages(&["--id", "42", "--around", "5us"]), [""; 0]);
}

/// `good` has one event, from 5 to 7 µs.
#[test]
fn ranges_outside_of_the_trace_are_refused() {
    let place = Place::new();
    place.put("in.fxt", &good());
    let outside = "trace: in.fxt: the range is outside of the trace\n\
                   hint: the first event is at @0.000005000s, and the trace is 2.000µs long\n";
    for range in [&["--from", "100ms"][..], &["--from", "@8us"], &["--to", "@5us"]] {
        for command in [&["slice", "in.fxt", "-o", "out.fxt"][..], &["dump", "in.fxt"]] {
            let run = place.run(&[command, range].concat());
            assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", outside), "{range:?}");
        }
    }
    assert_eq!(place.names(), ["in.fxt"]);
    // The range has the end of the event.
    assert_eq!(place.run(&["slice", "in.fxt", "--from", "@7us", "-o", "out.fxt"]).code, 0);
}

/// Log and scheduling records before and after the event, and a duration without an end.
#[test]
fn ranges_of_other_records_are_parts_of_the_trace() {
    let place = Place::new();
    place.put("in.fxt", &around());
    let messages = |options: &[&str]| {
        let run = place.run(&[&["slice", "in.fxt", "-o", "out.fxt"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // The first event is at 5 µs and the last one at 8 µs. A log record is at 1 µs, and a thread
    // is woken at 20 µs.
    let none = "no duration or operation overlaps the borders";
    let one = "1 duration or operation overlaps the borders, kept whole";
    let before = messages(&["--to", "@2us"]);
    assert_eq!(before[0], "trace: 0 of 2 events kept, and 1 of 2 other records");
    assert_eq!(before[1], format!("trace: from -0.000004000s to -0.000003000s; {none}"));
    let between = format!("trace: from -0.000003000s to -0.000002000s; {none}");
    assert_eq!(messages(&["--from", "@2us", "--to", "@3us"])[1], between);
    let after = messages(&["--from", "@15us"]);
    assert_eq!(after[1], format!("trace: from 0.000010000s to 0.000015000s; {one}"));
    assert_eq!(
        messages(&["--from", "@2us"])[1],
        after[1].replace("0.000010000s", "-0.000003000s").replace(one, none)
    );
    let run = place.run(&["slice", "in.fxt", "--from", "@21us", "-o", "out.fxt"]);
    assert!(run.code == 1 && run.stderr.contains("the range is outside of the trace"), "{run:?}");
}

/// Returns an archive with records around its events.
fn around() -> Vec<u8> {
    let thread = Thread::Inline(ThreadKoids::new(12, 34));
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    writer.initialization(1_000_000).unwrap();
    writer.record(&Log { ticks: 1, thread, message: b"before" }.into()).unwrap();
    for (ticks, kind) in
        [(5, EventKind::DurationComplete { end: 7 }), (8, EventKind::DurationBegin)]
    {
        let (category, name, arguments) = ("net".into(), "poll".into(), Arguments::NONE);
        let event = Event { ticks, thread, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    }
    let arguments = Arguments::NONE;
    writer.record(&ThreadWakeup { ticks: 20, cpu: 0, thread: 34, arguments }.into()).unwrap();
    writer.into_inner()
}

#[test]
fn merged_archives() {
    let place = Place::new();
    place.put("a.fxt", &good());
    place.put("b.fxt", &lossy());
    let run = place.run(&["merge", "a.fxt", "b.fxt", "-o", "out.fxt"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.starts_with("trace: 4 events and 2 other records of 2 providers\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("b.fxt: \"app\" has no clock anchor"), "{}", run.stderr);
    assert!(!run.stderr.contains("more than once"), "{run:?}");
    let twice = place.run(&["merge", "a.fxt", "b.fxt", "./a.fxt", "-o", "twice.fxt"]);
    let expected = "trace: ./a.fxt is listed more than once: its records are repeated\n";
    assert!(twice.code == 0 && twice.stderr.starts_with(expected), "{twice:?}");
    let check = place.run(&["check", "out.fxt"]);
    assert!(check.stdout.contains("provider 2 \"app\""), "{check:?}");
    assert!(check.stdout.contains("dropped records: 40"), "{check:?}");
    let stats = place.run(&["stats", "--csv", "out.fxt"]).stdout;
    assert!(stats.contains("duration,net,poll,2,4000,4000,"), "{stats}");
}

#[test]
fn errors_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("cut.fxt", &cut());
    place.put("text", b"no archive at all");
    let failed = |arguments: &[&str], part: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains(part), "{run:?}");
    };
    failed(&["slice", "in.fxt", "-o", "in.fxt"], "is both input and output");
    failed(&["merge", "in.fxt", "cut.fxt", "-o", "in.fxt"], "is both input and output");
    failed(&["slice", "text", "-o", "out"], "cannot read text: not a trace archive");
    failed(&["merge", "in.fxt", "text", "-o", "out"], "cannot read text: not a trace archive");
    failed(&["merge", ".", "-o", "out"], "cannot read .: is a directory");
    for selection in [&["-p", "nobody"][..], &["-p", "./app", "-p", "nobody"]] {
        let line = [&["slice", "in.fxt", "-o", "out"], selection].concat();
        failed(&line, "no process named 'nobody'");
    }
    failed(&["slice", "in.fxt", "-p", "12", "-p", "13", "-o", "out"], "no process 13");
    failed(&["slice", "in.fxt", "-t", "35", "-o", "out"], "no thread 35");
    failed(&["slice", "in.fxt", "--from", "2s", "--to", "1s", "-o", "out"], "not before --to");
    failed(&["slice", "in.fxt", "-o", "missing/out"], "cannot write missing/out");
    for command in ["slice", "merge"] {
        failed(&[command, "in.fxt", "-o", "/dev/full"], "no space left on device");
        failed(&[command, "missing", "-o", "out"], "cannot open missing");
        assert_eq!(place.run(&[command, "cut.fxt", "-o", "kept"]).code, 3);
        assert_eq!(place.run(&["check", "kept"]).code, 0);
        std::fs::remove_file(place.path("kept")).unwrap();
    }
    assert_eq!(place.names(), ["cut.fxt", "in.fxt", "text"]);
}

/// All commands take a part of the trace's time: from 5 to 90 µs of this archive.
#[test]
fn times_as_percentages() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    let names = |options: &[&str]| {
        let run = place.run(&[&["dump", "in.fxt"], options].concat());
        let times = ["\"moment\"", "\"queue\"", "async-end"];
        times.map(|name| run.stdout.contains(name))
    };
    // 87 % are at 78.95 µs, 76 % at 69.6 µs.
    assert_eq!(names(&["--from", "87%"]), [true, false, true]);
    assert_eq!(names(&["--from", "76%", "--to", "77%"]), [false, true, false]);
    assert_eq!(names(&["--from", "76%", "--to", "100%"]), [true, true, true]);
    let kept = |options: &[&str]| {
        let run = place.run(&[&["slice", "in.fxt", "-o", "out.fxt"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        place.run(&["dump", "out.fxt"]).stdout
    };
    assert_eq!(
        kept(&["--from", "76%", "--to", "77%"]),
        kept(&["--from", "64.6us", "--to", "65.45us"])
    );
    assert_eq!(kept(&["--from", "0%", "--to", "100%"]), kept(&[]));
    let [at, same] = ["50%", "42500ns"].map(|at| place.run(&["stats", "in.fxt", "--at", at]));
    assert_eq!(at, same);
    assert!(at.code == 0 && at.stdout.contains("net:outer"), "{at:?}");
    let wrong = place.run(&["stats", "in.fxt", "--at", "120%"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("is not a percentage from 0% to 100%"), "{wrong:?}");
}

/// No part of an archive without events has any.
#[test]
fn percentages_without_events() {
    let place = Place::new();
    place.put("in.fxt", &Writer::new(Vec::new()).unwrap().into_inner());
    let run = place.run(&["dump", "in.fxt", "--from", "25%", "--to", "75%"]);
    assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
    let run = place.run(&["dump", "in.fxt", "--from", "75%", "--to", "25%"]);
    assert!(run.code != 0 && run.stderr.contains("--from is not before --to"), "{run:?}");
}
