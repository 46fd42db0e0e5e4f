//! Archives that are cut into parts.

use std::path::Path;

use trace_manager::Rotation;

use super::*;

/// A size that a program of the tests records in a few thousand rounds.
pub(crate) const PART: Rotation = Rotation { size: Some(64 << 10), interval: None, keep: None };

pub(crate) fn rotated(rotation: Rotation, categories: &[&str]) -> SessionConfig {
    SessionConfig { rotation: Some(rotation), ..config(BufferingMode::Streaming, categories) }
}

/// Returns the parts of `NAME.fxt` in their order, and their numbers.
pub(crate) fn parts(directory: &Path, name: &str) -> Vec<(u64, Archive)> {
    let number = |path: &Path| {
        let name_of_part = path.file_name().unwrap().to_str().unwrap().to_owned();
        let rest = name_of_part.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".fxt")?;
        rest.parse::<u64>().ok()
    };
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut parts: Vec<_> =
        paths.filter_map(|path| Some((number(&path)?, Archive::open(&path)))).collect();
    parts.sort_by_key(|(number, _)| *number);
    parts
}

/// Returns the numbers of a category in all parts.
pub(crate) fn numbers(parts: &[(u64, Archive)], category: &str) -> Vec<u64> {
    parts.iter().flat_map(|(_, part)| part.numbers(category)).collect()
}

/// Programs run through several parts, and begin or end in one.
#[test]
fn each_part_decodes_by_itself() {
    let stage = Stage::new();
    let config = SessionConfig { rotation: Some(PART), ..rotated(PART, &["a"]) };
    let session = stage.start("out.fxt", config);
    let first = Program::start(stage.manager.path(), "one");
    first.run(6000);
    let mut expected = first.end()["a"].clone();
    let second = Program::start(stage.manager.path(), "two");
    second.run(6000);
    expected.extend(&second.end()["a"]);
    session.handle.stop();
    let summary = session.handle.join().unwrap();
    let parts = parts(stage.directory.path(), "out");
    assert!(parts.len() > 2, "{summary:?}");
    assert!(parts.iter().map(|(number, _)| *number).eq(1..=parts.len() as u64));
    let found = numbers(&parts, "a");
    assert_eq!(found, expected, "the last part, too");
    assert_eq!(found.len() as u64, summary.events());
    for (number, part) in &parts {
        assert!(part.notes.len() >= 2, "part {number}: {:?}", part.notes);
        assert!(part.notes.iter().all(|note| note == "clock anchor"), "{:?}", part.notes);
    }
    assert_eq!((summary.parts.len(), summary.parts_removed), (parts.len(), 0));
    let files = std::fs::read_dir(stage.directory.path()).unwrap().count();
    assert_eq!(files, parts.len() + 1, "the parts, and the socket");
    let sizes = summary.parts.iter().map(|path| std::fs::metadata(path).unwrap().len());
    assert_eq!(sizes.sum::<u64>(), summary.archive.unwrap());
}

#[test]
fn a_part_ends_after_its_time() {
    let stage = Stage::new();
    let rotation = Rotation { interval: Some(Duration::from_millis(50)), ..Rotation::default() };
    let session = stage.start("out.fxt", rotated(rotation, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    wait_until("the third part is complete", || stage.directory.path().join("out.3.fxt").exists());
    let recorded = program.end();
    session.handle.stop();
    session.handle.join().unwrap();
    let parts = parts(stage.directory.path(), "out");
    assert_eq!(numbers(&parts, "a"), recorded["a"]);
    for (number, part) in &parts[..3] {
        assert!(!part.numbers("a").is_empty(), "part {number} was flushed");
    }
}

#[test]
fn the_newest_parts_are_kept() {
    let stage = Stage::new();
    std::fs::write(stage.directory.path().join("out.7.fxt"), "").unwrap();
    let session = stage.start("out.fxt", rotated(Rotation { keep: Some(2), ..PART }, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    let is_there = |name: &str| stage.directory.path().join(name).exists();
    wait_until("the tenth part is complete", || is_there("out.10.fxt"));
    let recorded = program.end();
    session.handle.stop();
    let summary = session.handle.join().unwrap();
    assert!(is_there("out.7.fxt") && !is_there("out.8.fxt"), "an earlier recording stays");
    std::fs::remove_file(stage.directory.path().join("out.7.fxt")).unwrap();
    let parts = parts(stage.directory.path(), "out");
    assert_eq!((parts.len(), summary.parts.len()), (2, 2));
    assert_eq!(summary.parts_removed, parts[1].0 - 7 - 2);
    assert!(recorded["a"].ends_with(&numbers(&parts, "a")), "the newest records");
}

/// The other session has one archive.
#[test]
fn each_session_has_its_own_parts() {
    let stage = Stage::new();
    let whole = stage.start("whole.fxt", config(BufferingMode::Streaming, &["b"]));
    let cut = stage.start("cut.fxt", rotated(PART, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(6000);
    let recorded = program.end();
    cut.handle.stop();
    cut.handle.join().unwrap();
    let parts = parts(stage.directory.path(), "cut");
    assert!(parts.len() > 1);
    assert_eq!(numbers(&parts, "a"), recorded["a"]);
    assert!(parts.iter().all(|(_, part)| part.numbers("b").is_empty()));
    let (archive, _) = whole.end();
    assert_eq!(archive.numbers("b"), recorded["b"]);
}

#[test]
fn a_snapshot_has_all_parts_and_the_buffers() {
    let stage = Stage::new();
    let session = stage.start("out.fxt", rotated(PART, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    wait_until("the second part is complete", || stage.directory.path().join("out.2.fxt").exists());
    let path = stage.directory.path().join("snapshot");
    session.handle.snapshot(&path).unwrap();
    let recorded = program.end();
    session.handle.stop();
    session.handle.join().unwrap();
    let snapshot = Archive::open(&path);
    let first_parts = [1, 2].map(|part| stage.directory.path().join(format!("out.{part}.fxt")));
    let in_parts = first_parts.iter().map(|part| Archive::open(part).numbers("a").len());
    let numbers = snapshot.numbers("a");
    assert!(numbers.len() >= in_parts.sum());
    assert_eq!(numbers, recorded["a"][..numbers.len()]);
    assert!(snapshot.notes.iter().all(|note| note == "clock anchor"), "{:?}", snapshot.notes);
}

/// Parts that are removed after the snapshot was requested are in it.
#[test]
fn a_snapshot_has_the_kept_parts() {
    let stage = Stage::new();
    let session = stage.start("out.fxt", rotated(Rotation { keep: Some(2), ..PART }, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    let is_there = |name: &str| stage.directory.path().join(name).exists();
    wait_until("the sixth part is complete", || is_there("out.6.fxt"));
    let path = stage.directory.path().join("snapshot");
    session.handle.snapshot(&path).unwrap();
    let recorded = program.end();
    session.handle.stop();
    let summary = session.handle.join().unwrap();
    let snapshot = Archive::open(&path).numbers("a");
    let start = recorded["a"].iter().position(|number| snapshot.first() == Some(number)).unwrap();
    assert!(start > 0, "older parts are removed");
    assert_eq!(snapshot, recorded["a"][start..start + snapshot.len()]);
    let sizes = summary.parts.iter().map(|path| std::fs::metadata(path).unwrap().len());
    let smallest = sizes.min().unwrap().min(64 << 10);
    assert!(std::fs::metadata(&path).unwrap().len() > 2 * smallest, "two parts, and the present");
    assert_eq!(summary.parts.len(), 2);
    assert!(!is_there("out.4.fxt"), "the snapshot keeps no part for longer than it takes");
}

#[test]
fn a_discarded_session_leaves_no_part() {
    let stage = Stage::new();
    let session = stage.start("out.fxt", rotated(PART, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    wait_until("a part is complete", || stage.directory.path().join("out.1.fxt").exists());
    session.handle.discard();
    session.handle.join().unwrap();
    program.end();
    assert_eq!(std::fs::read_dir(stage.directory.path()).unwrap().count(), 1, "the socket");
}

#[test]
fn only_files_are_cut() {
    let stage = Stage::new();
    let start = |target| stage.manager.start(rotated(PART, &[]), target).unwrap_err().to_string();
    let reason = "rotation requires an archive that is a file, not a pipe";
    assert_eq!(start(ArchiveTarget::File("/dev/null".into())), reason);
    let stream = std::os::unix::net::UnixStream::pair().unwrap().0;
    assert_eq!(start(ArchiveTarget::Stream(stream.into())), reason);
    let missing = stage.directory.path().join("none/out.fxt");
    assert!(start(ArchiveTarget::File(missing)).starts_with("cannot create the archive"));
}
