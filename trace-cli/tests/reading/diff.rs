//! `trace diff`

use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};

use crate::harness::{cut, good, Place};

/// Returns an archive of 500 noisy scopes of two names; `b` takes `percent`
/// more.
fn archive(seed: u64, percent: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let mut noise = seed;
    for number in 0..1000 {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = ["a", "b"][number as usize % 2];
        let length = 10_000 + (noise >> 33) % 1000;
        let length = length * (100 + if name == "b" { percent } else { 0 }) / 100;
        let event = Event {
            ticks: number * 100_000,
            thread: Thread::Inline(ThreadKoids::new(1, 2)),
            category: "cat".into(),
            name: name.into(),
            kind: EventKind::DurationComplete { end: number * 100_000 + length },
            arguments: Arguments::NONE,
        };
        writer.record(&event.into()).unwrap();
    }
    writer.into_inner()
}

#[test]
fn what_is_slower_is_found_and_fails() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 5));
    let run = place.run(&["diff", "a.fxt", "b.fxt"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    let [heads, row, sum] = &lines[..] else { panic!("{run:?}") };
    assert!(heads.trim_start().starts_with("CHANGE") && row.ends_with("slower   cat:b"), "{run:?}");
    assert_eq!(*sum, "1 slower, 0 faster, 1 alike, 0 too rare to tell, 0 new, 0 gone");
    let run = place.run(&["diff", "a.fxt", "b.fxt", "--fail-over", "4%"]);
    assert_eq!(run.code, 4);
    assert!(run.stderr.starts_with("trace: cat:b is slower by +"), "{}", run.stderr);
    assert_eq!(place.run(&["diff", "a.fxt", "b.fxt", "--fail-over", "7%"]).code, 0);
    assert_eq!(place.run(&["diff", "b.fxt", "a.fxt", "--fail-over", "1%"]).code, 0);
    let json = place.run(&["diff", "a.fxt", "b.fxt", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["changes"][0]["name"], "b");
    assert_eq!(json["changes"][0]["verdict"], "slower");
}

#[test]
fn the_same_program_is_alike() {
    let place = Place::new();
    place.put("a.fxt", &archive(1, 0));
    place.put("b.fxt", &archive(2, 0));
    let run = place.run(&["diff", "a.fxt", "b.fxt", "--fail-over", "1%"]);
    let expected = "0 slower, 0 faster, 2 alike, 0 too rare to tell, 0 new, 0 gone\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
}

#[test]
fn what_is_wrong_is_told() {
    let place = Place::new();
    place.put("a.fxt", &good());
    place.put("cut.fxt", &cut());
    place.put("text", b"no archive");
    assert_eq!(place.run(&["diff", "a.fxt", "cut.fxt"]).code, 3);
    let run = place.run(&["diff", "a.fxt", "text"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("trace: 'text' is no trace archive"), "{}", run.stderr);
    assert_eq!(place.run(&["diff", "-", "-"]).code, 1);
    assert_eq!(place.run(&["diff", "a.fxt", "a.fxt", "--threshold", "x"]).code, 2);
}
