//! Damage in the middle of archives, as each command reports it.

use trace_format::{Arguments, Event, EventKind, Reader, Record, Thread, ThreadKoids, Writer};

use crate::harness::Place;

/// The commands that analyze an archive.
const COMMANDS: [&[&str]; 8] = [
    &["stats", "in.fxt"],
    &["top", "in.fxt"],
    &["critical-path", "in.fxt"],
    &["diff", "in.fxt", "in.fxt"],
    &["timeline", "in.fxt", "-o", "out.html"],
    &["flamegraph", "in.fxt", "-o", "out.svg"],
    &["convert", "in.fxt", "-o", "out.csv"],
    &["convert", "in.fxt", "-o", "out.json"],
];

/// Returns an archive of two operations with three durations, and the place of the second one.
fn archive() -> (Vec<u8>, usize) {
    use EventKind::*;
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for (ticks, name, kind) in [
        (10, "request", AsyncBegin { id: 7 }),
        (20, "first", DurationComplete { end: 30 }),
        (40, "request", AsyncEnd { id: 7 }),
        (50, "middle", DurationComplete { end: 60 }),
        (70, "request", AsyncBegin { id: 8 }),
        (80, "last", DurationComplete { end: 90 }),
        (99, "request", AsyncEnd { id: 8 }),
    ] {
        let (category, name) = ("app".into(), name.into());
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        let event = Event { ticks, thread, category, name, kind, arguments: Arguments::NONE };
        writer.record(&event.into()).unwrap();
    }
    let archive = writer.into_inner();
    let place = middle(&archive);
    (archive, place)
}

fn middle(archive: &[u8]) -> usize {
    let mut reader = Reader::new(archive);
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Event(event) if item.text(event.name) == "middle" => {
                return usize::try_from(item.offset).unwrap();
            }
            _ => {}
        }
    }
    panic!("the archive has the record");
}

/// Asserts that each command ends with a code and reports the damage.
fn assert_reported(archive: &[u8], code: i32, report: &str) {
    let place = Place::new();
    place.put("in.fxt", archive);
    for command in COMMANDS {
        let run = place.run(command);
        assert_eq!(run.code, code, "{command:?}: {run:?}");
        assert!(run.stderr.contains(report), "{command:?}: {run:?}");
    }
}

#[test]
fn undamaged() {
    assert_reported(&archive().0, 0, "");
    let place = Place::new();
    place.put("in.fxt", &archive().0);
    for command in COMMANDS {
        let run = place.run(command);
        assert!(!run.stderr.contains("in.fxt: "), "{command:?}: {run:?}");
    }
}

#[test]
fn a_malformed_record() {
    let (mut archive, place) = archive();
    // An argument, of which the record has no word.
    archive[place + 2] |= 0x10;
    assert_reported(&archive, 3, "in.fxt: malformed records, skipped: 1\n");
}

#[test]
fn a_record_without_a_size() {
    let (mut archive, place) = archive();
    archive[place..place + 8].fill(0);
    let report = format!("in.fxt: the record at byte {place} has size 0; the records before it");
    assert_reported(&archive, 3, &report);
}

#[test]
fn a_record_of_an_unknown_type() {
    let (mut archive, place) = archive();
    archive[place] = archive[place] & 0xf0 | 0xe;
    assert_reported(&archive, 0, "in.fxt: records of unknown types, skipped: 1\n");
    let dir = Place::new();
    dir.put("in.fxt", &archive);
    let slice = dir.run(&["slice", "in.fxt", "-o", "out.fxt"]);
    assert!(slice.stderr.contains("records of unknown types, kept: 1\n"), "{slice:?}");
    assert!(!slice.stderr.contains("skipped"), "{slice:?}");
}

#[test]
fn an_unknown_string() {
    let (mut archive, place) = archive();
    archive[place + 6..place + 8].copy_from_slice(&0x7000_u16.to_le_bytes());
    assert_reported(&archive, 3, "in.fxt: references to unknown strings: 1\n");
}

/// A bit of the begin changed, so it is after the end.
#[test]
fn a_time_far_in_the_future() {
    let (mut archive, place) = archive();
    archive[place + 15] |= 0x40;
    assert_reported(&archive, 0, "durations that end before they begin, ");
}
