//! `-c`, `-n` and `-t` of the commands that read archives, and the names of pictures.

use trace_format::layout::ObjectType;
use trace_format::{Arguments, Event, EventKind, KernelObject, Thread, ThreadKoids, Writer};

use crate::harness::{everything, good, Place};

#[test]
fn pictures_and_conversions_have_the_selected_events_only() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    for (arguments, output) in [
        (&["flamegraph", "in.fxt"][..], "in.flamegraph.svg"),
        (&["timeline", "in.fxt", "-o", "out.svg"], "out.svg"),
        (&["convert", "in.fxt", "-o", "out.json"], "out.json"),
        (&["convert", "in.fxt", "-o", "out.csv"], "out.csv"),
    ] {
        let run = place.run(&[arguments, &["-c", "net", "-n", "inn*"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let text = place.text(output);
        assert!(text.contains("inner") && !text.contains("outer"), "{output}: {text}");
    }
    let run = place.run(&["dump", "in.fxt", "-n", "inner"]);
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    assert!(run.stdout.contains("inner"), "{run:?}");
}

#[test]
fn a_json_document_is_selected_from() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    assert_eq!(place.run(&["convert", "in.fxt", "-o", "in.json"]).code, 0);
    let run = place.run(&["convert", "in.json", "-n", "inner", "-o", "part.json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!place.text("part.json").contains("outer"));
    let run = place.run(&["convert", "in.json", "-n", "inner", "-o", "part.fxt"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("use trace slice in.json -o part.fxt"), "{run:?}");
}

#[test]
fn stats_and_diff_select_names() {
    let place = Place::new();
    place.put("in.fxt", &everything());
    for command in [&["stats", "in.fxt"][..], &["diff", "in.fxt", "in.fxt", "--all"]] {
        let run = place.run(&[command, &["-n", "inner"]].concat());
        assert!(run.stdout.contains("inner") && !run.stdout.contains("outer"), "{run:?}");
    }
}

/// What cannot be read of an archive is reported once, also if events are selected.
#[test]
fn a_damaged_archive_is_reported() {
    let place = Place::new();
    let archive = everything();
    place.put("in.fxt", &archive[..archive.len() - 4]);
    let run = place.run(&["flamegraph", "in.fxt", "-c", "net", "-o", "out.svg"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(run.stderr.matches("the records before it are used").count(), 1, "{run:?}");
    let run = place.run(&["flamegraph", "in.fxt", "-c", "nat", "-o", "out.svg"]);
    assert!(run.stderr.contains("no event of category 'nat'"), "{run:?}");
}

#[test]
fn pictures_are_named_after_the_archive() {
    let place = Place::new();
    place.put("in.fxt", &good());
    std::fs::create_dir(place.path("dir")).unwrap();
    place.put("dir/app.2.fxt.gz", &good());
    place.put("run.1", &good());
    for (arguments, output) in [
        (["timeline", "in.fxt"], "in.timeline.html"),
        (["timeline", "dir/app.2.fxt.gz"], "app.2.timeline.html"),
        (["flamegraph", "in.fxt"], "in.flamegraph.svg"),
        (["flamegraph", "run.1"], "run.1.flamegraph.svg"),
    ] {
        let run = place.run(&arguments);
        assert_eq!((run.code, run.stderr), (0, format!("trace: written to {output}\n")));
        assert!(place.names().contains(&output.to_owned()));
    }
    let run = place.run_with(&["timeline", "-"], &good());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("hint: name it with -o"), "{run:?}");
}

/// Returns an archive with operations, flows and durations of two threads.
fn of_two_threads() -> Vec<u8> {
    use EventKind::{AsyncBegin, AsyncEnd, DurationComplete, FlowBegin, FlowEnd};
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (koid, name) in [(34, "worker"), (35, "other")] {
        let (object_type, arguments) = (ObjectType::THREAD, Arguments::NONE);
        writer
            .record(&KernelObject { object_type, koid, name: name.into(), arguments }.into())
            .unwrap();
        let thread = Thread::Inline(ThreadKoids::new(12, koid));
        for (ticks, kind) in [
            (10, DurationComplete { end: 20 }),
            (11, AsyncBegin { id: koid }),
            (12, AsyncEnd { id: koid }),
            (13, FlowBegin { id: koid }),
            (14, FlowEnd { id: koid }),
        ] {
            let (category, arguments) = ("net".into(), Arguments::NONE);
            let name = if koid == 34 { "mine" } else { "theirs" }.into();
            let event = Event { ticks, thread, category, name, kind, arguments };
            writer.record(&event.into()).unwrap();
        }
    }
    writer.into_inner()
}

#[test]
fn every_command_selects_threads() {
    let place = Place::new();
    place.put("in.fxt", &of_two_threads());
    for command in [
        &["stats", "in.fxt"][..],
        &["stats", "in.fxt", "--slowest", "9"],
        &["stats", "in.fxt", "--flows"],
        &["top", "in.fxt"],
        &["diff", "in.fxt", "in.fxt", "--all"],
        &["critical-path", "in.fxt"],
        &["critical-path", "in.fxt", "--flow"],
        &["dump", "in.fxt"],
        &["convert", "in.fxt", "-o", "-", "--to", "csv"],
        &["flamegraph", "in.fxt", "-o", "-"],
    ] {
        for thread in ["34", "worker", "work*"] {
            let run = place.run(&[command, &["-t", thread]].concat());
            assert_eq!(run.code, 0, "{run:?}");
            let (mine, theirs) = (run.stdout.contains("mine"), run.stdout.contains("theirs"));
            assert!(mine && !theirs, "{command:?} {run:?}");
            place.run(&["timeline", "in.fxt", "-o", "out.svg", "-t", thread]);
            let picture = place.text("out.svg");
            assert!(picture.contains("mine") && !picture.contains("theirs"));
        }
        let run = place.run(&[command, &["-t", "nobody"]].concat());
        assert_eq!(run.code, 1, "{run:?}");
        let said = "no thread named 'nobody'\nhint: the names are other, worker\n";
        assert!(run.stderr.contains(said), "{run:?}");
    }
}

#[test]
fn names_without_events_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &of_two_threads());
    let run = place.run(&["stats", "in.fxt", "-n", "mime"]);
    let said = "trace: no event is named 'mime'\nhint: did you mean 'mine'?\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", said));
    assert_eq!(place.run(&["stats", "in.fxt", "-n", "mi*"]).stderr, "");
    let run = place.run(&["stats", "in.fxt", "-n", "zz*"]);
    let said = "trace: no event is named 'zz*'\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, "no such events\n", said));
    // The name is that of another thread.
    let run = place.run(&["stats", "in.fxt", "-n", "mine", "-t", "other"]);
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, "no such events\n", ""));
}

/// The commands that select names, but for the output.
const SELECTING: [&[&str]; 9] = [
    &["stats", "in.fxt"],
    &["stats", "in.fxt", "--slowest", "9"],
    &["top", "in.fxt"],
    &["diff", "in.fxt", "in.fxt", "--all"],
    &["critical-path", "in.fxt"],
    &["dump", "in.fxt"],
    &["convert", "in.fxt", "-o", "-", "--to", "csv"],
    &["flamegraph", "in.fxt", "-o", "-"],
    &["slice", "in.fxt", "-o", "out.fxt"],
];

#[test]
fn every_command_refuses_unknown_names() {
    let place = Place::new();
    place.put("in.fxt", &of_two_threads());
    let options =
        [["-n", "mime"], ["-n", "mine,mime"], ["-n", "net:mime"], ["-c", "nit"], ["-c", "net,nit"]];
    for command in SELECTING {
        for option in options {
            let run = place.run(&[command, &option].concat());
            assert_eq!(run.code, 1, "{option:?} {run:?}");
            let said = ["trace: no event is named '", "trace: no event of category 'nit'"];
            let lines = run.stderr.lines();
            let said = lines.filter(|line| said.iter().any(|said| line.starts_with(said)));
            assert_eq!(said.count(), 1, "{option:?} {run:?}");
            assert!(!place.names().contains(&"out.fxt".to_owned()), "{option:?}");
        }
    }
}

#[test]
fn names_have_any_characters() {
    let place = Place::new();
    let durations = [
        ("web", "/cart", 0, 10),
        ("web", "sum(int, int)", 20, 30),
        ("web", "-x", 40, 50),
        ("web", "a*b", 60, 70),
    ];
    place.put("in.fxt", &crate::harness::durations(&durations));
    for (list, name) in [
        ("/cart", "web:/cart"),
        ("web:/c*", "web:/cart"),
        (r"sum(int\, int)", "web:sum(int, int)"),
        (r"\-x", "web:-x"),
        ("a*b", "web:a*b"),
    ] {
        let run = place.run(&["stats", "in.fxt", "-n", list]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{list}");
        let rows: Vec<&str> = run.stdout.lines().skip(2).collect();
        assert!(rows.len() == 1 && rows[0].ends_with(&format!("  {name}")), "{list} {rows:?}");
    }
    let unknown = place.run(&["stats", "in.fxt", "-n", "/card"]);
    let said = "trace: no event is named '/card'\nhint: did you mean '/cart'?\n";
    assert_eq!((unknown.code, unknown.stderr.as_str()), (1, said));
    // The name `/c*`, and not all that begin with `/c`. Hints have names as `-n` accepts them.
    for (list, code, said) in [
        (r"/c\*", 1, "trace: no event is named '/c\\*'\n"),
        ("/d*", 0, "trace: no event is named '/d*'\n"),
        (
            r"sum(int\,int)",
            1,
            "trace: no event is named 'sum(int\\,int)'\nhint: did you mean 'sum(int\\, int)'?\n",
        ),
    ] {
        let run = place.run(&["stats", "in.fxt", "-n", list]);
        assert_eq!((run.code, run.stderr.as_str()), (code, said), "{list}");
    }
}

#[test]
fn every_command_accepts_a_name_with_its_category() {
    let place = Place::new();
    place.put("in.fxt", &of_two_threads());
    for command in SELECTING {
        let run = place.run(&[command, &["-n", "net:mine"]].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let stdout = match command {
            ["slice", ..] => place.run(&["stats", "out.fxt"]).stdout,
            _ => run.stdout,
        };
        let (mine, theirs) = (stdout.contains("mine"), stdout.contains("theirs"));
        assert!(mine && !theirs, "{command:?} {stdout}");
    }
}
