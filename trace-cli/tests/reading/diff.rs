//! `trace diff`

use trace_format::{
    Argument, Arguments, Event, EventKind, Record, Thread, ThreadKoids, Value, Writer,
};

use crate::harness::{cut, good, Place};

/// Returns an archive of noisy scopes of two names, 2000 each in 4 s; `b` takes
/// so much more, in permille.
fn archive(seed: u64, more: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut noise = seed;
    for number in 0..4000 {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = ["a", "b"][number as usize % 2];
        let length = 10_000 + (noise >> 33) % 1000;
        let length = length * (1000 + if name == "b" { more } else { 0 }) / 1000;
        let end = number * 1_000_000 + length;
        writer
            .record(&scope(name, number * 1_000_000, EventKind::DurationComplete { end }))
            .unwrap();
    }
    writer.into_inner()
}

fn scope(name: &'static str, ticks: u64, kind: EventKind) -> Record<'static> {
    let thread = Thread::Inline(ThreadKoids::new(1, 2));
    let (category, name) = (["even", "odd"][usize::from(name == "b")].into(), name.into());
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }.into()
}

/// Runs that differ by what happens in them only.
const NO_RUN_NOISE: [&str; 2] = ["--run-noise", "0%"];

/// Compares two archives that differ by what happens in them only.
fn diff(place: &Place, before: &str, after: &str, options: &[&str]) -> crate::harness::Run {
    place.run(&[&["diff", before, after], &NO_RUN_NOISE[..], options].concat())
}

#[test]
fn what_is_slower_is_found_and_fails() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 50));
    let run = diff(&place, "a.fxt", "b.fxt", &[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    let [heads, row, sum, level] = &lines[..] else { panic!("{run:?}") };
    let expected = "intervals: at most 0.5% of the rows called slower or faster are so by chance";
    assert_eq!(*level, expected);
    let wide = diff(&place, "a.fxt", "b.fxt", &["--significance", "1%"]).stdout;
    assert!(wide.contains("\nintervals: at most 1% of"), "{wide}");
    assert!(heads.trim_start().starts_with("CHANGE") && row.ends_with("slower   odd:b"), "{run:?}");
    assert_eq!(*sum, "1 slower, 0 faster, 1 alike, 0 unclear, 0 minor, 0 new, 0 gone");
    let run = diff(&place, "a.fxt", "b.fxt", &["--fail-over", "4%"]);
    assert_eq!(run.code, 4);
    assert!(run.stderr.starts_with("trace: odd:b became slower by +4."), "{}", run.stderr);
    assert_eq!(diff(&place, "a.fxt", "b.fxt", &["--fail-over", "7%"]).code, 0);
    assert_eq!(diff(&place, "b.fxt", "a.fxt", &["--fail-over", "1%"]).code, 0);
    let json = diff(&place, "a.fxt", "b.fxt", &["--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let change = &json["changes"][0];
    assert_eq!((&change["name"], &change["verdict"]), (&"b".into(), &"slower".into()));
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| number(&change["interval"][end]));
    assert!(low < number(&change["change"]) && number(&change["change"]) < high, "{json}");
    assert!(low > 0.04 && high < 0.06 && number(&change["p"]) < 1e-9, "{json}");
}

/// The interval has to exclude the limit: five percent is not surely more than 4.95 %.
#[test]
fn the_interval_decides_about_the_limit() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 50));
    let json = diff(&place, "a.fxt", "b.fxt", &["--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let [low, high] = [0, 1].map(|end| json["changes"][0]["interval"][end].as_f64().unwrap());
    let code = |limit: f64, options: &[&str]| {
        let limit = format!("{:.4}%", limit * 100.0);
        diff(&place, "a.fxt", "b.fxt", &[&["--fail-over", &limit], options].concat()).code
    };
    assert_eq!(code(low - 0.001, &["--fail-on-unclear"]), 4);
    assert_eq!(code((low + high) / 2.0, &[]), 0);
    assert_eq!(code((low + high) / 2.0, &["--fail-on-unclear"]), 5);
    assert_eq!(code(high + 0.001, &["--fail-on-unclear"]), 0);
}

/// What must not be exceeded is seen, though it is below the usual threshold.
#[test]
fn the_limit_is_a_threshold() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 25));
    assert_eq!(diff(&place, "a.fxt", "b.fxt", &["--fail-over", "3%"]).code, 0);
    assert_eq!(diff(&place, "a.fxt", "b.fxt", &["--fail-over", "1.5%"]).code, 4);
}

#[test]
fn the_same_program_is_alike() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 0));
    let run = diff(&place, "a.fxt", "b.fxt", &["--fail-over", "1%", "--fail-on-unclear"]);
    let expected = "0 slower, 0 faster, 2 alike, 0 unclear, 0 minor, 0 new, 0 gone\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
}

/// One run a side does not show how much runs differ.
#[test]
fn one_run_a_side_asks_for_more() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 50));
    place.put("double.fxt", &archive(2, 1000));
    let run = place.run(&["diff", "a.fxt", "b.fxt"]);
    let expected = "0 slower, 0 faster, 0 alike, 2 unclear, 0 minor, 0 new, 0 gone\n\
                    unclear: one run a side shows no change below +60.0%; record 5 runs a side\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
    assert_eq!(place.run(&["diff", "a.fxt", "b.fxt", "--fail-on-unclear"]).code, 5);
    assert_eq!(place.run(&["diff", "a.fxt", "double.fxt", "--fail-over", "20%"]).code, 4);
}

/// Only what was asked about is counted, and makes the interval wider.
#[test]
fn categories_that_were_chosen() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 3));
    let width = |categories: &str| {
        let run = diff(&place, "a.fxt", "b.fxt", &["--json", "-c", categories]);
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let changes = json["changes"].as_array().unwrap();
        let of_b = changes.iter().find(|change| change["name"] == "b").unwrap();
        let [low, high] = [0, 1].map(|end| of_b["interval"][end].as_f64().unwrap());
        (changes.len(), high - low)
    };
    let ((one, of_one), (two, of_two)) = (width("odd"), width("*"));
    assert_eq!((one, two), (1, 2));
    assert!(of_two > of_one * 1.02, "{of_one} {of_two}");
}

#[test]
fn what_cannot_be_judged_is_told() {
    let place = Place::new();
    let few = |length: u64| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for number in 0..5 {
            let begin = number * 100_000_000;
            let end = begin + length;
            writer.record(&scope("a", begin, EventKind::DurationComplete { end })).unwrap();
        }
        writer.record(&scope("b", 7, EventKind::DurationBegin)).unwrap();
        writer.into_inner()
    };
    place.put("a.fxt", &few(100_000));
    place.put("b.fxt", &few(10_000_000));
    let run = place.run(&["diff", "a.fxt", "b.fxt", "--fail-over", "5%"]);
    let sum = run.stdout.lines().next().unwrap();
    assert_eq!(sum, "0 slower, 0 faster, 0 alike, 1 unclear, 0 minor, 0 new, 0 gone");
    let [a, b, unclear, hint] = run.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{run:?}")
    };
    assert_eq!(a, "trace: a.fxt: durations without an end, skipped: 1");
    assert_eq!(b, "trace: b.fxt: durations without an end, skipped: 1");
    assert_eq!(unclear, "trace: rows that may be slower by more than +5.0%: 1");
    assert_eq!(hint, "hint: list them with --all");
    assert_eq!(run.code, 0);
}

#[test]
fn several_archives_a_side() {
    let place = Place::new();
    for seed in 1..=6 {
        place.put(&format!("a{seed}.fxt"), &archive(seed, seed % 3));
        place.put(&format!("b{seed}.fxt"), &archive(seed + 10, 50 + seed % 3));
    }
    let all_of = |side: &str| (1..=6).map(|seed| format!("{side}{seed}.fxt")).collect::<Vec<_>>();
    let run = |before: &str, after: &str, number: usize| {
        let mut line = vec!["diff".to_owned(), "--before".to_owned()];
        line.extend(all_of(before).into_iter().take(number));
        line.push("--after".to_owned());
        line.extend(all_of(after).into_iter().take(number));
        line.extend(["--fail-over".to_owned(), "4%".to_owned()]);
        place.run(&line.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let slower = run("a", "b", 6);
    assert_eq!(slower.code, 4, "{slower:?}");
    assert!(slower.stdout.contains(" 12000 "), "{slower:?}");
    assert_eq!(run("b", "a", 6).code, 0);
    let few = run("a", "b", 2);
    assert_eq!(few.code, 1);
    assert_eq!(
        few.stderr,
        "trace: cannot compare 2 archives with 2\nhint: pass one archive a side, or at least 3\n"
    );
    assert_eq!(place.run(&["diff", "--before", "a1.fxt"]).code, 2);
    assert_eq!(place.run(&["diff", "a1.fxt"]).code, 2);
}

#[test]
fn what_is_wrong_is_told() {
    let place = Place::new();
    place.put("a.fxt", &good());
    place.put("cut.fxt", &cut());
    place.put("text", b"no archive");
    place.put("read.fxt", &archive(1, 0));
    let run = place.run(&["diff", "read.fxt", "read.fxt"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(place.run(&["diff", "a.fxt", "cut.fxt"]).code, 3);
    let run = place.run(&["diff", "a.fxt", "text"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.starts_with("trace: cannot read text: not a trace archive"),
        "{}",
        run.stderr
    );
    assert_eq!(place.run(&["diff", "-", "-"]).code, 1);
    assert_eq!(place.run(&["diff", "a.fxt", "a.fxt", "--threshold", "x"]).code, 2);
}

/// A misspelt category, or archives of other programs, are no sign that all is
/// well.
#[test]
fn nothing_to_compare_is_told_and_incomplete() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("empty.fxt", &Writer::new(Vec::new()).unwrap().into_inner());
    let nothing = |before, after| {
        format!(
            "trace: nothing was compared: no row is in both archives: {before} only before, \
             {after} only after\n"
        )
    };
    let misspelt = "trace: no event of category 'evn'\nhint: the categories are even, odd\n";
    let gone = "trace: gone rows, not compared: 2\nhint: list them with --all\n";
    let limit = ["--fail-over", "5%"];
    for (line, stderr) in [
        (&["a.fxt", "a.fxt", "-c", "-even,-odd"][..], nothing(0, 0)),
        (&["empty.fxt", "empty.fxt"], nothing(0, 0)),
        (&["empty.fxt", "a.fxt"], nothing(0, 2)),
        (&["a.fxt", "empty.fxt"], nothing(2, 0)),
    ] {
        let run = place.run(&[&["diff"], line].concat());
        assert_eq!((run.code, &run.stderr), (3, &stderr), "{line:?}");
        let run = place.run(&[&["diff"], line, &limit].concat());
        let lost = if line == ["a.fxt", "empty.fxt"] { gone } else { "" };
        assert_eq!((run.code, run.stderr), (3, stderr + lost), "{line:?}");
    }
    for categories in ["evn", "evn,odd"] {
        let run = place.run(&["diff", "a.fxt", "a.fxt", "-c", categories]);
        assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", misspelt));
    }
}

/// What is on one side only has no length on the other.
#[test]
fn what_is_not_there_has_no_length() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("empty.fxt", &Writer::new(Vec::new()).unwrap().into_inner());
    let cells = |before, after| {
        let run = place.run(&["diff", before, after, "--all", "-c", "odd"]);
        let row = run.stdout.lines().nth(1).unwrap().split_whitespace();
        let heads = run.stdout.lines().next().unwrap().split("  ").map(str::trim);
        let heads: Vec<String> = heads.filter(|head| !head.is_empty()).map(str::to_owned).collect();
        assert_eq!(
            heads[2..9].concat(),
            "P50 BEFOREP50 AFTERP50 DIFFERENCEP99 BEFOREP99 AFTERCOUNT BEFORECOUNT AFTER"
        );
        row.map(str::to_owned).collect::<Vec<_>>()
    };
    let (gone, new) = (cells("a.fxt", "empty.fxt"), cells("empty.fxt", "a.fxt"));
    assert_eq!([&gone[3], &gone[4], &gone[6], &gone[8]], ["-"; 4], "{gone:?}");
    assert_eq!([&new[2], &new[4], &new[5], &new[7]], ["-"; 4], "{new:?}");
    assert_eq!((&*gone[7], &*new[8]), ("2000", "2000"));
}

#[test]
fn more_than_two_archives_need_their_sides() {
    let place = Place::new();
    let run = place.run(&["diff", "a.fxt", "b.fxt", "c.fxt"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("3 archives are given"), "{run:?}");
    assert!(run.stderr.contains("hint: trace diff --before A1"), "{run:?}");
    assert_eq!(place.run(&["diff", "a.fxt"]).code, 2);
}

/// Returns an archive of calls of `outer` with an inner duration each. Those with the argument
/// `url=/cart` take so much more self time, in permille.
fn calls(more: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for number in 0..1000 {
        let (url, more) = [("/item", 0), ("/cart", more)][usize::from(number % 4 == 0)];
        let url = [Argument::new("url", Value::String(url.into()))];
        let (begin, own) = (number * 1_000_000, (20_000 + number % 7) * (1000 + more) / 1000);
        let end = begin + own + 10_000;
        for (name, ticks) in [("outer", begin), ("inner", begin + own)] {
            let (thread, name) = (Thread::Inline(ThreadKoids::new(1, 2)), name.into());
            let (kind, arguments) = (EventKind::DurationComplete { end }, (&url).into());
            let category = "app".into();
            let event = Event { ticks, thread, category, name, kind, arguments };
            writer.record(&event.into()).unwrap();
        }
    }
    writer.into_inner()
}

#[test]
fn values_of_an_argument_are_compared() {
    let place = Place::new();
    place.put("a.fxt", &calls(0));
    place.put("b.fxt", &calls(300));
    let run = diff(&place, "a.fxt", "b.fxt", &["--by", "arg:url", "--fail-over", "9%"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].ends_with("VERDICT  NAME       BY"), "{run:?}");
    assert!(lines[1].ends_with("slower   app:outer  /cart"), "{run:?}");
    assert_eq!(lines[2], "1 slower, 0 faster, 3 alike, 0 unclear, 0 minor, 0 new, 0 gone");
    assert_eq!(run.code, 4);
    assert!(run.stderr.starts_with("trace: app:outer /cart became slower by +"), "{run:?}");
    let json = diff(&place, "a.fxt", "b.fxt", &["--by", "arg:url", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["changes"][0]["value"], "/cart");
    let run = diff(&place, "a.fxt", "b.fxt", &["--by", "arg:utl"]);
    let note = "trace: no event has the argument 'utl'\n\
                hint: list arguments with trace info a.fxt\n";
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", note));
    place.put("c.fxt", &archive(1, 0));
    let run = diff(&place, "a.fxt", "c.fxt", &["--by", "arg:url"]);
    let note = "trace: no event has the argument 'url' in 1 of 2 archives: c.fxt\n";
    assert!(run.stderr.starts_with(note), "{run:?}");
    let run = diff(&place, "a.fxt", "b.fxt", &["--by", "thread"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("use arg:KEY with the name of an argument"), "{run:?}");
}

/// The outer durations are longer by a fifth, because of their own time, which is longer by 30 %.
#[test]
fn self_time_is_compared() {
    let place = Place::new();
    place.put("a.fxt", &calls(0));
    place.put("b.fxt", &calls(300));
    let change = |options: &[&str]| {
        let run = diff(&place, "a.fxt", "b.fxt", &[&["--by", "arg:url"], options].concat());
        let cells: Vec<String> =
            run.stdout.lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect();
        (run.stdout.lines().next().unwrap().contains("SELF P50 BEFORE"), cells[0].clone())
    };
    assert_eq!(change(&[]), (false, "+20.0%".to_owned()));
    assert_eq!(change(&["--self"]), (true, "+30.0%".to_owned()));
}

/// The difference is that of the medians, in text and JSON. The rest of the table is announced.
#[test]
fn differences_and_a_limit() {
    let place = Place::new();
    place.put("a.fxt", &calls(0));
    place.put("b.fxt", &calls(300));
    let by = ["--by", "arg:url"];
    let json = |before: &str, after: &str| {
        let run = diff(&place, before, after, &[&by[..], &["--json", "--limit", "1"]].concat());
        assert_eq!(run.stderr, "");
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()["changes"].clone()
    };
    let changes = json("a.fxt", "b.fxt");
    assert_eq!(changes.as_array().unwrap().len(), 4, "JSON has all rows");
    let number = |side: &str, key: &str| changes[0][side][key].as_i64().unwrap();
    for key in ["p50", "p99"] {
        let ns = format!("{key}_ns");
        let difference = number("after", &ns) - number("before", &ns);
        assert!(difference > 5_000, "{changes}");
        assert_eq!(changes[0][format!("{key}_difference_ns")], difference);
    }
    let back = json("b.fxt", "a.fxt");
    let mut differences = back.as_array().unwrap().iter().map(|row| &row["p50_difference_ns"]);
    assert!(differences.any(|nanos| nanos.as_i64().unwrap() < -5_000), "{back}");
    let cell = |before: &str, after: &str| {
        let run = diff(&place, before, after, &by);
        let row = run.stdout.lines().nth(1).unwrap().to_owned();
        row.split_whitespace().nth(4).unwrap().to_owned()
    };
    assert_eq!(
        (cell("a.fxt", "b.fxt"), cell("b.fxt", "a.fxt")),
        ("+6.000µs".into(), "-6.000µs".into())
    );
    let limited = diff(&place, "a.fxt", "b.fxt", &[&by[..], &["--all", "--limit", "1"]].concat());
    assert_eq!(limited.stdout.matches("  app:").count(), 1, "{limited:?}");
    assert_eq!(limited.stderr, "trace: 3 more rows\nhint: --limit 4 shows them\n");
    assert!(limited.stdout.contains("1 slower, 0 faster, 3 alike"), "{limited:?}");
}
