use trace_format::{Arguments, Event, EventKind, Record, Thread};

use super::*;
use trace_analyze::stats::Grouping;

fn event<'a>(thread: u64, ticks: u64, name: &'a str, kind: EventKind) -> Record<'a> {
    let thread = Thread::Inline(ThreadKoids::new(1, thread));
    let (category, name) = ("cat".into(), name.into());
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }.into()
}

fn stacks() -> Stacks {
    use EventKind::DurationComplete;
    let records = [
        event(2, 100, "main", DurationComplete { end: 200 }),
        event(2, 110, "a;b", DurationComplete { end: 140 }),
        event(2, 120, "leaf", DurationComplete { end: 130 }),
        // Follows its child.
        event(2, 155, "leaf", DurationComplete { end: 160 }),
        event(2, 150, "a;b", DurationComplete { end: 170 }),
        event(3, 100, "main", DurationComplete { end: 150 }),
        // Outlasts its parent.
        event(3, 140, "leaf", DurationComplete { end: 170 }),
    ];
    Stacks::read(Reader::new(&*crate::testing::archive(&records))).unwrap()
}

fn sorted(folded: &Folded) -> Vec<(String, u64)> {
    let mut stacks: Vec<(String, u64)> = folded.stacks().collect();
    stacks.sort();
    stacks
}

#[test]
fn folded_stacks() {
    let folded = sorted(&stacks().folded(Grouping::Together).unwrap());
    let expected =
        [("main", 50 + 40), ("main;a:b", 20 + 15), ("main;a:b;leaf", 10 + 5), ("main;leaf", 10)];
    assert_eq!(folded, expected.map(|(stack, nanos)| (stack.to_owned(), nanos)));
    let threads = sorted(&stacks().folded(Grouping::Thread).unwrap());
    assert!(threads.contains(&("1;3;main;leaf".to_owned(), 10)), "{threads:?}");
    assert_eq!(threads.iter().map(|(_, nanos)| nanos).sum::<u64>(), 150);
}

#[test]
fn frames_of_one_name_in_several_categories() {
    let of = |category: &'static str, ticks, end| {
        let kind = EventKind::DurationComplete { end };
        let Record::Event(event) = event(2, ticks, "query", kind) else { unreachable!() };
        Event { category: category.into(), ..event }.into()
    };
    let records = [
        event(2, 0, "main", EventKind::DurationComplete { end: 100 }),
        of("db", 10, 30),
        of("web", 40, 45),
        of("web", 50, 80),
        of("db", 60, 70),
    ];
    let stacks = Stacks::read(Reader::new(&*crate::testing::archive(&records))).unwrap();
    let expected = [
        ("main", 45),
        ("main;db:query", 20),
        ("main;web:query", 25),
        ("main;web:query;db:query", 10),
    ];
    let expected = expected.map(|(stack, nanos)| (stack.to_owned(), nanos));
    assert_eq!(sorted(&stacks.folded(Grouping::Together).unwrap()), expected);
    let names = FrameNames::new(stacks.frames().chain([("old", "main")]));
    let folded = stacks.folded_with_names(Grouping::Together, &names).unwrap();
    assert_eq!(sorted(&folded)[0], ("cat:main".to_owned(), 45));
}

/// With a clock of microseconds, only the order distinguishes them.
#[test]
fn of_equal_durations_the_first_is_the_outer_one() {
    let complete = EventKind::DurationComplete { end: 20 };
    let records = [event(2, 10, "outer", complete), event(2, 10, "inner", complete)];
    let stacks = Stacks::read(Reader::new(&*crate::testing::archive(&records))).unwrap();
    let folded = stacks.folded(Grouping::Together).unwrap();
    assert_eq!(sorted(&folded), [("outer;inner".to_owned(), 10)]);
}

/// All of them overlap: without the limit, the output would be quadratic.
#[test]
fn stacks_have_a_limited_depth() {
    let depth = MAX_DEPTH as u64;
    let number = 3 * depth;
    let complete = |begin| EventKind::DurationComplete { end: begin + number };
    let records: Vec<Record<'_>> =
        (0..number).map(|begin| event(2, begin, "x", complete(begin))).collect();
    let stacks = Stacks::read(Reader::new(&*crate::testing::archive(&records))).unwrap();
    let folded = stacks.folded(Grouping::Together).unwrap();
    assert_eq!(folded.deeper, 2 * depth);
    let stacks = sorted(&folded);
    assert_eq!(stacks.len() as u64, depth + 1);
    assert_eq!(stacks.iter().map(|(_, nanos)| nanos).sum::<u64>(), number);
    let (deepest, nanos) = stacks.iter().max_by_key(|(stack, _)| stack.len()).unwrap();
    assert_eq!(deepest, &format!("{}…", "x;".repeat(MAX_DEPTH)));
    assert_eq!(*nanos, number - depth);
}

#[test]
fn speedscope_has_a_profile_for_each_thread() {
    let mut output = Vec::new();
    stacks().speedscope("x", &mut output).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(json["shared"]["frames"][1]["name"], "a;b");
    let profiles = json["profiles"].as_array().unwrap();
    assert_eq!((profiles.len(), &profiles[0]["endValue"]), (2, &100.into()));
    for profile in profiles {
        let mut open = Vec::new();
        let mut last = 0;
        for event in profile["events"].as_array().unwrap() {
            let at = event["at"].as_u64().unwrap();
            assert!(at >= last, "{profile}");
            last = at;
            match event["type"].as_str().unwrap() {
                "O" => open.push(event["frame"].clone()),
                _ => assert_eq!(open.pop(), Some(event["frame"].clone())),
            }
        }
        assert!(open.is_empty());
    }
}
