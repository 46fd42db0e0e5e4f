//! Sessions of streaming providers that start and end beside each other.

use super::program::Recorded;
use super::*;

fn streaming(categories: &[&str]) -> SessionConfig {
    config(BufferingMode::Streaming, categories)
}

/// Returns whether the numbers follow each other without a gap or a repetition.
fn is_contiguous(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[0] + 1 == pair[1])
}

#[test]
fn two_sessions_get_each_their_own_categories() {
    let stage = Stage::new();
    let first = stage.start("first.fxt", streaming(&["a"]));
    let second = stage.start("second.fxt", streaming(&["b"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(2000);
    let recorded = program.end();
    assert_eq!(recorded.keys().collect::<Vec<_>>(), [&"a", &"b"]);
    for (session, category) in [(first, "a"), (second, "b")] {
        let (archive, summary) = session.end();
        assert_eq!(archive.categories(), [category]);
        assert_eq!(archive.numbers(category), recorded[category]);
        let number = recorded[category].len() as u64;
        assert_eq!((summary.events(), summary.lost()), (number, 0));
        let provider = &summary.providers[0];
        assert_eq!(provider.categories, [(category.to_owned(), number)].into());
    }
}

/// Each session gets its own of each program, also from the buffer that both share.
#[test]
fn single_programs_have_categories_and_buffers_of_their_own() {
    let stage = Stage::new();
    let session = |name: &str, patterns: &[&str]| {
        let mut config = streaming(&[]);
        config.select(&patterns.iter().map(|text| text.to_string()).collect::<Vec<_>>());
        config.spec("one").buffer_size = Some(1 << 20);
        stage.start(name, config)
    };
    let first = session("first.fxt", &["one/a"]);
    let second = session("second.fxt", &["b", "two/c"]);
    let one = Program::start(stage.manager.path(), "one");
    let two = Program::start(stage.manager.path(), "two");
    one.run(1000);
    two.run(1000);
    let (one, two) = (one.end(), two.end());
    let number = |recorded: &Recorded, category| recorded[category].len() as u64;
    let expected = [
        (first, [("one", vec![("a", number(&one, "a"))]), ("two", vec![])]),
        (
            second,
            [
                ("one", vec![("b", number(&one, "b"))]),
                ("two", vec![("b", number(&two, "b")), ("c", number(&two, "c"))]),
            ],
        ),
    ];
    assert!(!two.contains_key("a") && !one.contains_key("c"));
    for (session, providers) in expected {
        let (_, summary) = session.end();
        for (name, categories) in providers {
            let provider = summary.providers.iter().find(|it| it.name == name).unwrap();
            let found: Vec<_> =
                provider.categories.iter().map(|(name, number)| (name.as_str(), *number)).collect();
            assert_eq!(found, categories, "{name}");
            assert_eq!(provider.buffer_size > 512 << 10, name == "one", "{provider:?}");
        }
    }
}

/// The first session has all events of its category, from the start to the end.
#[test]
fn a_session_that_joins_and_leaves_does_not_change_another() {
    let stage = Stage::new();
    let first = stage.start("first.fxt", streaming(&["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(1000);
    for name in ["second.fxt", "third.fxt"] {
        let second = stage.start(name, streaming(&["b"]));
        second.wait_started();
        let from = program.run(1000);
        let (archive, summary) = second.end();
        assert_eq!(archive.categories(), ["b"]);
        let numbers = archive.numbers("b");
        assert!(is_contiguous(&numbers) && numbers.len() >= 900, "{}", numbers.len());
        assert!(numbers.contains(&(from - 500)));
        assert_eq!((summary.events(), summary.lost()), (numbers.len() as u64, 0));
        program.run(500);
    }
    let recorded = program.end();
    let (archive, summary) = first.end();
    assert_eq!(archive.numbers("a"), recorded["a"]);
    assert!(is_contiguous(&recorded["a"]));
    assert_eq!(archive.categories(), ["a"]);
    assert_eq!(summary.events(), recorded["a"].len() as u64);
    assert_eq!(summary.providers.len(), 1, "the provider was not restarted");
}

/// Both sessions have the same category, so the provider records it before the second one starts.
#[test]
fn a_late_session_has_the_events_from_its_start_on() {
    let stage = Stage::new();
    let first = stage.start("first.fxt", streaming(&["a"]));
    let program = Program::start(stage.manager.path(), "one");
    let before = program.run(1000);
    let second = stage.start("second.fxt", streaming(&["a"]));
    second.wait_started();
    let from = program.run(1);
    let to = program.run(2000) - 1;
    let (archive, summary) = second.end();
    let numbers = archive.numbers("a");
    assert!(is_contiguous(&numbers));
    let (least, most) = (numbers[0], *numbers.last().unwrap());
    assert!((before..=from).contains(&least), "{before} {least} {from}");
    assert!(most >= to - 1, "{most} {to}");
    assert_eq!(summary.events(), numbers.len() as u64);
    let recorded = program.end();
    assert_eq!(first.end().0.numbers("a"), recorded["a"]);
}

/// The last session's provider continues with its categories only.
#[test]
fn the_first_session_can_end_before_the_second() {
    let stage = Stage::new();
    let first = stage.start("first.fxt", streaming(&["a", "c"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(1000);
    let second = stage.start("second.fxt", streaming(&["b", "c"]));
    second.wait_started();
    program.run(1000);
    let (archive, summary) = first.end();
    assert_eq!(archive.categories(), ["a", "c"]);
    assert!(is_contiguous(&archive.numbers("a")) && is_contiguous(&archive.numbers("c")));
    assert_eq!(summary.lost(), 0);
    program.run(1000);
    let recorded = program.end();
    let (archive, _) = second.end();
    assert_eq!(archive.categories(), ["b", "c"]);
    assert_eq!(archive.numbers("b"), recorded["b"]);
    assert_eq!(archive.numbers("c").last(), recorded["c"].last());
    assert!(recorded["a"].last() < recorded["b"].last(), "the category is turned off");
}

#[test]
fn a_provider_that_joins_late_serves_all_sessions() {
    let stage = Stage::new();
    let sessions = ["a", "b", "c"].map(|category| {
        (category, stage.start(&format!("{category}.fxt"), streaming(&[category])))
    });
    let programs = ["one", "two", "three"].map(|name| Program::start(stage.manager.path(), name));
    for program in &programs {
        program.run(500);
    }
    let recorded = programs.map(Program::end);
    for (category, session) in sessions {
        let (archive, summary) = session.end();
        let mut all: Vec<u64> = recorded.iter().flat_map(|it| it[category].clone()).collect();
        let mut found = archive.numbers(category);
        all.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, all);
        assert_eq!(summary.providers.len(), 3);
    }
}

#[test]
fn snapshots_are_those_of_their_session() {
    let stage = Stage::new();
    let first = stage.start("first.fxt", streaming(&["a"]));
    let program = Program::start(stage.manager.path(), "one");
    let second = stage.start("second.fxt", streaming(&["b"]));
    second.wait_started();
    let until = program.run(1000);
    for (session, category) in [(&first, "a"), (&second, "b")] {
        let path = stage.directory.path().join("snapshot.fxt");
        session.handle.snapshot(&path).unwrap();
        let snapshot = Archive::open(&path);
        assert_eq!(snapshot.categories(), [category]);
        let numbers = snapshot.numbers(category);
        assert!(is_contiguous(&numbers) && *numbers.last().unwrap() >= until - 2);
    }
    let recorded = program.end();
    assert_eq!(second.end().0.numbers("b"), recorded["b"]);
    assert_eq!(first.end().0.numbers("a"), recorded["a"]);
}
