//! Sessions whose categories change while they record.

use trace_manager::{Guard, ManagerError, SinkRequest};

use super::*;

fn patterns(categories: &[&str]) -> Vec<String> {
    categories.iter().map(|category| category.to_string()).collect()
}

/// The program counts what it recorded, which is in the archive, each event once.
#[test]
fn the_categories_of_a_session_change_in_each_mode() {
    for mode in [BufferingMode::Streaming, BufferingMode::Circular, BufferingMode::Oneshot] {
        let stage = Stage::new();
        let large = SessionConfig { buffer_size: 8 << 20, ..config(mode, &["a", "b"]) };
        let session = stage.start("out.fxt", large);
        let program = Program::start(stage.manager.path(), "one");
        program.run(500);
        session.handle.set_categories(patterns(&["b", "c"])).unwrap();
        program.run(1000);
        let recorded = program.end();
        let (archive, summary) = session.end();
        for category in program::CATEGORIES {
            assert_eq!(archive.numbers(category), recorded[category], "{mode:?}: {category}");
        }
        let (first, last) = (&recorded["a"], &recorded["c"]);
        assert!(recorded["b"].len() > first.len() && recorded["b"].len() > last.len());
        assert!(recorded["b"].windows(2).all(|pair| pair[1] == pair[0] + 1), "no interruption");
        assert_eq!((summary.lost(), archive.has_note("recording interrupted")), (0, false));
        assert_eq!(summary.categories, ["b", "c"]);
    }
}

/// The other session records all of the categories, so the program does not change.
#[test]
fn a_change_does_not_affect_the_other_session() {
    let stage = Stage::new();
    let whole = stage.start("whole.fxt", config(BufferingMode::Streaming, &[]));
    let changed = stage.start("changed.fxt", config(BufferingMode::Streaming, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(500);
    changed.handle.set_categories(patterns(&["b"])).unwrap();
    program.run(1000);
    let recorded = program.end();
    let (changed, summary) = changed.end();
    let (whole, _) = whole.end();
    for category in program::CATEGORIES {
        assert_eq!(whole.numbers(category), recorded[category], "{category}");
    }
    let (before, after) = (changed.numbers("a"), changed.numbers("b"));
    assert!(!before.is_empty() && recorded["a"].starts_with(&before), "{}", before.len());
    assert!(!after.is_empty() && recorded["b"].ends_with(&after), "{}", after.len());
    // The change is between two numbers, or between the categories of one.
    let (last, first) = (before[before.len() - 1], after[0]);
    assert!(first == last || first == last + 1, "{last} {first}");
    assert_eq!(changed.categories(), ["a", "b"]);
    assert_eq!(summary.events(), (before.len() + after.len()) as u64);
}

/// The session had what the program records. After the change, it has less.
#[test]
fn a_session_that_shares_a_program_changes() {
    let stage = Stage::new();
    let first = stage.start("first.fxt", config(BufferingMode::Streaming, &["a"]));
    let second = stage.start("second.fxt", config(BufferingMode::Streaming, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(500);
    first.handle.set_categories(patterns(&["b"])).unwrap();
    program.run(1000);
    let recorded = program.end();
    let ((first, _), (second, _)) = (first.end(), second.end());
    assert_eq!(second.numbers("a"), recorded["a"]);
    assert_eq!(second.categories(), ["a"]);
    let before = first.numbers("a");
    assert!(!before.is_empty() && before.len() < recorded["a"].len());
    assert!(recorded["a"].starts_with(&before));
    assert_eq!(first.numbers("b"), recorded["b"]);
}

/// A program that registers after the change.
#[test]
fn a_late_program_gets_the_changed_categories() {
    let stage = Stage::new();
    let session = stage.start("out.fxt", config(BufferingMode::Streaming, &["a"]));
    session.handle.set_categories(patterns(&["b", "two/c"])).unwrap();
    let programs = ["one", "two"].map(|name| Program::start(stage.manager.path(), name));
    for program in &programs {
        program.run(200);
    }
    let [one, two] = programs.map(Program::end);
    assert!(one.keys().eq(["b"].iter()) && two.keys().eq(["b", "c"].iter()));
    let (archive, _) = session.end();
    assert_eq!(archive.numbers("c"), two["c"]);
}

#[test]
fn only_sessions_that_record_to_one_archive_change() {
    let stage = Stage::new();
    let target = |name: &str| ArchiveTarget::File(stage.directory.path().join(name));
    let sink = trace_manager::ArchiveSink::create(target("sink.fxt")).unwrap();
    let sink = SinkRequest { categories: Vec::new(), sink: Box::new(sink) };
    let streaming = || config(BufferingMode::Streaming, &["a"]);
    let session =
        stage.manager.start_with_sinks(streaming(), target("out.fxt"), None::<Guard>, vec![sink]);
    let session = session.unwrap();
    let error = session.set_categories(patterns(&["b"])).unwrap_err();
    assert!(matches!(error, ManagerError::CategoriesOfSinks), "{error}");
    session.stop();
    session.join().unwrap();
    let error = session.set_categories(patterns(&["b"])).unwrap_err();
    assert!(matches!(error, ManagerError::SessionEnded), "{error}");
}
