//! Sessions with different modes and sizes beside each other.

use super::*;

const INTERRUPTED: &str = trace_format::notes::INTERRUPTED;

/// A recorder that is on does not prevent another session of the same programs.
#[test]
fn a_streaming_session_joins_a_circular_one() {
    let stage = Stage::new();
    let recorder = stage.start("recorder.fxt", config(BufferingMode::Circular, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(1000);
    let streaming = stage.start("streaming.fxt", config(BufferingMode::Streaming, &["b"]));
    streaming.wait_started();
    let from = program.run(1);
    let to = program.run(2000);
    let (archive, summary) = streaming.end();
    let numbers = archive.numbers("b");
    assert_eq!(archive.categories(), ["b"]);
    assert!(numbers[0] <= from && *numbers.last().unwrap() >= to - 2, "{from} {to}");
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]));
    assert_eq!((summary.lost(), archive.has_note(INTERRUPTED)), (0, false));
    program.run(1000);
    let recorded = program.end();
    let (archive, summary) = recorder.end();
    assert!(!archive.has_note(INTERRUPTED), "the provider keeps its buffer");
    assert_eq!((summary.providers.len(), summary.lost()), (1, 0));
    let numbers = archive.numbers("a");
    assert_eq!(summary.events(), numbers.len() as u64);
    assert_eq!(numbers, recorded["a"], "256 KiB have space for all");
}

/// The circular buffer has overwritten records before the other session joins, and the manager
/// removes more of them later. The other session has neither.
#[test]
fn a_joined_circular_session_keeps_its_last_records() {
    let stage = Stage::new();
    // Four rolling buffers: the program can fill half of one, which takes it some 100 ms, before
    // the manager has saved the oldest.
    let small = SessionConfig { buffer_size: 384 << 10, ..config(BufferingMode::Circular, &["a"]) };
    let recorder = stage.start("recorder.fxt", small.clone());
    let program = Program::start(stage.manager.path(), "one");
    program.run(16_000);
    let other = stage.start("other.fxt", SessionConfig { buffer_size: 1 << 20, ..small });
    other.wait_started();
    let snapshot = stage.directory.path().join("snapshot.fxt");
    recorder.handle.snapshot(&snapshot).unwrap();
    let from = program.run(1000);
    let (other, of_other) = other.end();
    let provider = &of_other.providers[0];
    assert_eq!(provider.overwritten, 0, "{provider:?}");
    assert!(!other.has_note("older records overwritten"));
    program.run(8000);
    let recorded = program.end();
    let (archive, summary) = recorder.end();
    assert!(summary.providers[0].overwritten > 2, "{summary:?}");
    assert!(archive.has_note("older records overwritten") && !archive.has_note(INTERRUPTED));
    let snapshot = Archive::open(&snapshot);
    for (archive, lost) in
        [(&archive, summary.lost()), (&other, of_other.lost()), (&snapshot, summary.lost())]
    {
        let numbers = archive.numbers("a");
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        let missing = numbers[numbers.len() - 1] + 1 - numbers[0] - numbers.len() as u64;
        assert!(missing <= lost, "{missing} are missing, {lost} are reported as lost");
        assert!(numbers.len() > 400, "{}", numbers.len());
    }
    assert_eq!(archive.numbers("a").last(), recorded["a"].last());
    assert!(other.numbers("a").last().is_some_and(|last| *last >= from - 2));
}

/// The program counts events that nobody records. It may record more than the buffer has space for
/// before the end.
#[test]
fn a_shared_circular_session_is_not_interrupted_by_others() {
    let stage = Stage::new();
    let large = SessionConfig { buffer_size: 4 << 20, ..config(BufferingMode::Circular, &["a"]) };
    let recorder = stage.start("recorder.fxt", SessionConfig { shared: true, ..large });
    let program = Program::start(stage.manager.path(), "one");
    program.wait_recorded();
    for mode in [BufferingMode::Streaming, BufferingMode::Circular, BufferingMode::Oneshot] {
        program.run(500);
        let other = stage.start("other.fxt", config(mode, &["b"]));
        other.wait_started();
        program.run(500);
        let (archive, summary) = other.end();
        assert_eq!((summary.lost(), archive.has_note(INTERRUPTED)), (0, false), "{mode:?}");
        assert!(summary.providers[0].answered_stop, "{mode:?}");
    }
    let recorded = program.end();
    let (archive, summary) = recorder.end();
    let numbers = archive.numbers("a");
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    assert!(numbers.len() >= 3000 && recorded["a"].ends_with(&numbers), "{numbers:?}");
    assert_eq!((summary.lost(), archive.has_note(INTERRUPTED)), (0, false));
}

/// A shared session keeps its limit without others, too.
#[test]
fn a_shared_session_keeps_its_last_or_first_records() {
    for mode in [BufferingMode::Circular, BufferingMode::Oneshot] {
        let stage = Stage::new();
        let small = SessionConfig { buffer_size: 16 << 10, ..config(mode, &["a"]) };
        let session = stage.start("a.fxt", SessionConfig { shared: true, ..small });
        let program = Program::start(stage.manager.path(), "one");
        program.run(20_000);
        let recorded = program.end();
        let (archive, summary) = session.end();
        let (numbers, all) = (archive.numbers("a"), &recorded["a"]);
        assert!((200..15_000).contains(&numbers.len()), "{mode:?}: {}", numbers.len());
        let expected = match mode {
            BufferingMode::Circular => &all[all.len() - numbers.len()..],
            _ => &all[..numbers.len()],
        };
        assert_eq!(numbers, expected, "{mode:?}");
        if mode == BufferingMode::Oneshot {
            assert_lost(&summary, all.len() - numbers.len());
        }
    }
}

/// The recorder's buffer is small, so the manager removes its oldest records.
#[test]
fn a_circular_session_beside_a_streaming_one_keeps_its_last_records() {
    let stage = Stage::new();
    let streaming = stage.start("streaming.fxt", config(BufferingMode::Streaming, &["b"]));
    let small = SessionConfig { buffer_size: 16 << 10, ..config(BufferingMode::Circular, &["a"]) };
    let recorder = stage.start("recorder.fxt", small);
    let program = Program::start(stage.manager.path(), "one");
    program.run(20_000);
    let snapshot = stage.directory.path().join("snapshot.fxt");
    recorder.handle.snapshot(&snapshot).unwrap();
    program.run(1000);
    let recorded = program.end();
    assert_eq!(streaming.end().0.numbers("b"), recorded["b"]);
    let (archive, summary) = recorder.end();
    for archive in [&archive, &Archive::open(&snapshot)] {
        let numbers = archive.numbers("a");
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        assert!((300..15_000).contains(&numbers.len()), "{}", numbers.len());
    }
    assert_eq!(archive.numbers("a").last(), recorded["a"].last());
    assert!(summary.providers[0].overwritten > 0, "{summary:?}");
    assert!(archive.has_note("older records overwritten"));
    assert_records(&archive, &summary);
}

#[test]
fn a_oneshot_session_beside_a_streaming_one_keeps_its_first_records() {
    let stage = Stage::new();
    let streaming = stage.start("streaming.fxt", config(BufferingMode::Streaming, &["b"]));
    let small = SessionConfig { buffer_size: 16 << 10, ..config(BufferingMode::Oneshot, &["a"]) };
    let oneshot = stage.start("oneshot.fxt", small);
    let program = Program::start(stage.manager.path(), "one");
    program.run(20_000);
    wait_until("the losses are counted", || {
        let statistics = oneshot.handle.statistics().unwrap();
        statistics.iter().any(|it| it.dropped.iter().any(|(_, number)| *number > 1000))
    });
    let recorded = program.end();
    assert_eq!(streaming.end().0.numbers("b"), recorded["b"]);
    let (archive, summary) = oneshot.end();
    let (numbers, all) = (archive.numbers("a"), &recorded["a"]);
    assert!((200..1000).contains(&numbers.len()), "{}", numbers.len());
    assert_eq!(numbers, all[..numbers.len()]);
    assert_records(&archive, &summary);
    assert_lost(&summary, all.len() - numbers.len());
    assert!(archive.has_note("records dropped"));
}

/// Checks the number of records in the archive. The summary counts none of the manager.
fn assert_records(archive: &Archive, summary: &SessionSummary) {
    let counted: u64 = summary.providers.iter().map(|it| it.records).sum();
    let others = archive.records.checked_sub(counted);
    assert!(others.is_some_and(|others| others < 40), "{counted} of {}", archive.records);
}

/// Checks that the session has lost so many recorded events. On a busy machine, the buffer that
/// another session's mode gives the program may be full for a moment, which loses more.
fn assert_lost(summary: &SessionSummary, recorded: usize) {
    assert!(summary.lost() >= recorded as u64, "{recorded} of {summary:?}");
    let by_reason = summary.providers.iter().flat_map(|it| &it.dropped_by_reason);
    assert_eq!(by_reason.map(|(_, number)| number).sum::<u64>(), summary.lost(), "{summary:?}");
}

#[test]
fn oneshot_and_circular_sessions_join_each_other() {
    let stage = Stage::new();
    let oneshot = stage.start("oneshot.fxt", config(BufferingMode::Oneshot, &["a"]));
    let program = Program::start(stage.manager.path(), "one");
    program.run(500);
    let circular = stage.start("circular.fxt", config(BufferingMode::Circular, &["a", "c"]));
    circular.wait_started();
    let middle = program.run(500);
    let (archive, _) = oneshot.end();
    assert!(archive.numbers("a").last().is_some_and(|last| *last >= middle - 2));
    assert_eq!(archive.categories(), ["a"]);
    program.run(500);
    let recorded = program.end();
    let (archive, _) = circular.end();
    assert_eq!(archive.numbers("c"), recorded["c"]);
    assert_eq!(archive.numbers("a").last(), recorded["a"].last());
    assert!(!archive.has_note(INTERRUPTED), "it had the provider from the new buffer on");
}
