use super::*;
use crate::fixture::event;
use trace_format::encode::append;
use trace_format::notes;
use trace_format::record::Record;
use trace_format::{Argument, Event, EventKind, Log, Text, Thread, ThreadKoids, Value};
use trace_protocol::buffer::producer::LossReason;

/// The words of an event of the fixture.
const EVENT: usize = 4;

fn words(records: &[Record<'_>]) -> Vec<u64> {
    let mut words = Records::begin(&Spares::default(), 7);
    records.iter().for_each(|record| append(&mut words, record).unwrap());
    words
}

fn block(records: &[Record<'_>]) -> Records {
    let words = Spares::default().share(words(records));
    Records { provider: 7, words, slots: Vec::new(), reported: 0, is_copy: true, is_last: false }
}

/// Returns a retention with space for `events` events of a provider whose buffer streams.
fn retention(mode: BufferingMode, events: usize) -> Retention {
    let mut retention = Retention::new(mode, (events * EVENT * 8) as u64, Spares::default());
    retention.add(1, 7, BufferingMode::Streaming, 0, None);
    retention
}

fn string(index: u16) -> Record<'static> {
    Record::String { index, value: b"text" }
}

fn thread() -> Record<'static> {
    Record::Thread { index: 1, koids: ThreadKoids::new(1, 2) }
}

fn last() -> Words {
    Spares::default().share(words(&[]))
}

#[test]
fn the_fixture_has_the_expected_size() {
    assert_eq!(words(&[event(1)]).len(), SECTION + EVENT);
}

#[test]
fn a_buffer_that_keeps_the_limit_itself_is_not_limited() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular] {
        let mut retention = Retention::new(mode, 8, Spares::default());
        retention.add(1, 7, mode, 0, None);
        assert!(!retention.has(7));
        let records = block(&[event(1), event(2)]);
        assert_eq!(retention.accept(records.clone())[0].words(), records.words());
    }
    let streaming = retention(BufferingMode::Streaming, 0);
    assert!(!streaming.has(7), "a streaming session has no limit");
}

#[test]
fn a_oneshot_session_gets_the_first_records_and_all_strings() {
    let mut retention = retention(BufferingMode::Oneshot, 3);
    let first = block(&[event(1), event(2)]);
    assert_eq!(retention.accept(first.clone())[0].words(), first.words());
    let second = retention.accept(block(&[event(3), event(4), string(1), event(5)]));
    assert_eq!(second[0].words(), &words(&[event(3), string(1)])[SECTION..]);
    let third = retention.accept(block(&[thread(), event(6), string(2)]));
    assert_eq!(third[0].words(), &words(&[string(2)])[SECTION..]);
    let lost = retention.finish(7, &last(), 0).limited.dropped.unwrap();
    assert_eq!((lost.number, lost.from, lost.to), (3, 4, 6));
    assert!(!retention.has(7));
}

/// A snapshot, and a guard, take what the session would have taken.
#[test]
fn the_limit_continues_where_the_session_is() {
    let mut retention = retention(BufferingMode::Oneshot, 3);
    retention.accept(block(&[event(1), event(2)]));
    let progress = retention.progress(7).unwrap();
    let rests = [
        retention.rest(7).unwrap(),
        RestLimit::resume(&progress, retention.first_words(7).unwrap()),
    ];
    for mut rest in rests {
        let first = rest.take(&words(&[event(3), event(4), string(1)]), 0);
        assert_eq!(first, Some(words(&[event(3), string(1)])));
        let second = rest.take(&words(&[event(5)]), 0);
        assert_eq!(second, Some(words(&[])));
        let lost = rest.limited().dropped.unwrap();
        assert_eq!((lost.number, lost.from, lost.to), (2, 4, 5));
    }
    assert_eq!(retention.limited(7).dropped(), 0, "the session's own limit is as before");
    let mut circular = self::retention(BufferingMode::Circular, 1);
    assert!(circular.rest(7).is_none());
    (1..=3).for_each(|number| drop(circular.accept(block(&[event(number)]))));
    assert_eq!(circular.progress(7).unwrap().overwritten, 2);
}

/// The session had the provider with a buffer of its own mode before.
#[test]
fn the_records_of_an_earlier_buffer_count() {
    let mut retention = retention(BufferingMode::Oneshot, 3);
    retention.charge(1, 2 * EVENT);
    let records = retention.accept(block(&[event(1), event(2)]));
    assert_eq!(records[0].words(), &words(&[event(1)])[SECTION..]);
    retention.charge(2, 100);
    assert_eq!(retention.finish(7, &last(), 0).limited.dropped.unwrap().number, 1);
}

#[test]
fn a_circular_session_gets_the_last_records_and_all_strings() {
    let mut retention = retention(BufferingMode::Circular, 3);
    assert!(retention.accept(block(&[string(1), event(1)])).is_empty());
    assert!(retention.accept(block(&[event(2)])).is_empty());
    let removed = retention.accept(block(&[thread(), event(3)]));
    assert_eq!(removed.len(), 1, "the first block");
    assert!(removed[0].words().is_empty());
    let expected = words(&[string(1), event(2), thread(), event(3)]);
    let (provider, contents) = &retention.contents()[0];
    assert_eq!((*provider, &contents[..]), (7, &expected[..]));
    let end = Spares::default().share(words(&[event(4)]));
    let last = retention.finish(7, &end, 0);
    assert_eq!(last.words, words(&[string(1), thread(), event(3), event(4)]));
    assert_eq!((last.limited.overwritten, last.limited.dropped.is_none()), (2, true));
}

/// A chunk's thread is a record of the archive, and no other one of the program.
#[test]
fn records_that_are_left_out_are_counted() {
    let koids = ThreadKoids::new(1, 2);
    let log = Record::Log(Log { ticks: 1, thread: Thread::Inline(koids), message: b"a" });
    let [chunk, named] = [CHUNK_THREAD.bits(), 2].map(|index| Record::Thread { index, koids });
    // A circular session keeps the newest record, and the thread of its chunk.
    let cases = [(BufferingMode::Oneshot, (6, 2, 2)), (BufferingMode::Circular, (6, 2, 1))];
    for (mode, expected) in cases {
        let mut retention = retention(mode, 0);
        for _ in 0..2 {
            retention.accept(block(&[string(1), named, chunk, event(1), log]));
        }
        let Limited { records, events, others, .. } = retention.limited(7);
        assert_eq!((records, events, others), expected, "{mode:?}");
    }
}

/// The reports are not in the archive. Losses from before the provider joined belong to no session.
#[test]
fn losses_that_left_out_records_report_are_not_told() {
    let reporting = |number, reported| Records { reported, ..block(&[event(number)]) };
    let cases =
        [(BufferingMode::Circular, 5, vec![4, 5]), (BufferingMode::Oneshot, 11, vec![4, 5, 5])];
    for (mode, unreported, archived) in cases {
        let mut retention = Retention::new(mode, EVENT as u64 * 8, Spares::default());
        retention.add(1, 7, BufferingMode::Streaming, 5, None);
        let blocks = [(1, 4), (2, 8), (3, 10)].map(|(number, it)| reporting(number, it));
        let passed_on = blocks.into_iter().flat_map(|block| retention.accept(block));
        let reports: Vec<u64> = passed_on.map(|records| records.reported).collect();
        assert_eq!(reports, archived, "{mode:?}");
        assert_eq!(retention.held_back_reports(7), 5, "{mode:?}");
        let last = Spares::default().share(words(&[event(4)]));
        assert_eq!(retention.finish(7, &last, 16).limited.unreported, unreported, "{mode:?}");
    }
}

/// A thread may report losses from before the session behind those of another thread.
#[test]
fn losses_count_while_earlier_ones_are_not_reported() {
    let reporting = |number, reported| Records { reported, ..block(&[event(number)]) };
    let mut retention =
        Retention::new(BufferingMode::Circular, EVENT as u64 * 8, Spares::default());
    retention.add(1, 7, BufferingMode::Streaming, 5, None);
    retention.expect_earlier(7, 5);
    assert!(retention.accept(reporting(1, 3)).is_empty());
    retention.expect_earlier(7, 0);
    assert_eq!(retention.accept(reporting(2, 8)).len(), 1, "the block that reports 3 is removed");
    assert_eq!(retention.finish(7, &last(), 8).limited.unreported, 3);
}

/// Of 5 losses from before the session, 3 are reported by its first block: this was not known when
/// it joined.
#[test]
fn reports_of_losses_from_before_the_session_are_corrected() {
    let reporting = |number, reported| Records { reported, ..block(&[event(number)]) };
    let mut retention =
        Retention::new(BufferingMode::Circular, EVENT as u64 * 8, Spares::default());
    retention.add(1, 7, BufferingMode::Streaming, 0, None);
    retention.correct_reports(7, 3);
    assert!(retention.accept(reporting(1, 4)).is_empty());
    assert_eq!(retention.accept(reporting(2, 4)).len(), 1, "the block that reports 4 is removed");
    assert_eq!(retention.finish(7, &last(), 4).limited.unreported, 1);
}

/// Also one that is larger than the limit.
#[test]
fn the_newest_record_is_always_kept() {
    let mut retention = retention(BufferingMode::Circular, 0);
    assert!(retention.accept(block(&[event(1), event(2)])).is_empty());
    assert_eq!(retention.limited(7).events, 1);
    assert_eq!(retention.finish(7, &last(), 0).words, words(&[event(2)]));
}

/// Returns the ticks of the retained events, which the fixture has made.
fn retained_ticks(retention: &Retention) -> Vec<u64> {
    let (_, contents) = &retention.contents()[0];
    split_records(contents).filter(|it| is_event(it)).map(|it| it[1]).collect()
}

/// A block is a rolling buffer of the largest session of a provider.
#[test]
fn a_small_block_behind_a_large_one_costs_no_records() {
    const LIMIT: usize = 800;
    let mut retention = retention(BufferingMode::Circular, LIMIT);
    let last = 2 * LIMIT as u64 + 9;
    let large = Vec::from_iter((1..=2 * LIMIT as u64).map(event));
    assert!(retention.accept(block(&large)).is_empty(), "the rest of it is retained");
    assert_eq!(retention.progress(7).unwrap().overwritten, 0, "a guard has the whole block");
    for number in 2 * LIMIT as u64 + 1..=last {
        assert!(retention.accept(block(&[event(number)])).is_empty());
    }
    let retained = retained_ticks(&retention);
    assert_eq!(retained, Vec::from_iter(last + 1 - LIMIT as u64..=last));
    let Limited { records, events, overwritten, .. } = retention.limited(7);
    let removed = last - LIMIT as u64;
    assert_eq!((records, events, overwritten), (removed, removed, 1));
    assert_eq!(retention.clear(7, true).len(), 10, "each block is passed on once");
}

/// Also if it begins in the middle of a chunk.
#[test]
fn retained_records_have_the_names_that_they_need() {
    let koids = |thread| ThreadKoids::new(1, thread);
    let named = Record::Thread { index: 2, koids: koids(5) };
    let chunk = |thread| Record::Thread { index: CHUNK_THREAD.bits(), koids: koids(thread) };
    let mut retention = retention(BufferingMode::Circular, 4);
    let records = [string(1), chunk(1), event(1), named, chunk(2), event(2), event(3), string(2)];
    assert!(retention.accept(block(&records)).is_empty());
    assert!(retention.accept(block(&[chunk(3), event(4)])).is_empty());
    // Event 3 is in the chunk of thread 2.
    let expected = [string(1), named, chunk(2), event(3), string(2), chunk(3), event(4)];
    let (_, contents) = &retention.contents()[0];
    assert_eq!(contents[..], words(&expected));
    assert_eq!(retention.finish(7, &last(), 0).words, words(&expected));
}

/// Only the reports among removed records are not in the archive.
#[test]
fn losses_that_the_rest_of_a_block_reports_count() {
    const REPORT: u64 = 11;
    let strings = [notes::CATEGORY, notes::RECORDS_DROPPED, LossReason::BufferFull.as_str()];
    let strings = [1, 2, 3].map(|index| {
        let value = strings[usize::from(index) - 1].as_bytes();
        Record::String { index, value }
    });
    let arguments = [4, 2].map(|number| {
        let number = [Value::Uint64(number), Value::Uint64(1), Value::Uint64(2)];
        let [number, begin, end] = number.map(|value| Argument { name: Text::Indexed(4), value });
        let value = Value::String(Text::Indexed(3));
        [Argument { name: Text::Indexed(4), value }, number, begin, end]
    });
    let [four, two] = [0, 1].map(|index: usize| {
        Record::Event(Event {
            ticks: 1,
            thread: Thread::Inline(ThreadKoids::new(1, 2)),
            category: Text::Indexed(1),
            name: Text::Indexed(2),
            kind: EventKind::Instant { scope: None },
            arguments: (&arguments[index]).into(),
        })
    });
    let mut retention = Retention::new(BufferingMode::Circular, REPORT * 8, Spares::default());
    retention.add(1, 7, BufferingMode::Streaming, 0, None);
    let [category, name, reason] = strings;
    let records = block(&[category, name, reason, four, two]);
    assert!(retention.accept(Records { reported: 6, ..records }).is_empty());
    assert_eq!((retention.limited(7).unreported, retention.held_back_reports(7)), (4, 6));
    let removed = retention.accept(Records { reported: 6, ..block(&[event(1)]) });
    assert_eq!((removed.len(), removed[0].reported), (1, 0));
    assert_eq!((retention.limited(7).unreported, retention.held_back_reports(7)), (6, 6));
}
