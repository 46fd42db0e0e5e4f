//! Reports on complete, lossy and malformed archives.

use trace_format::layout::{InstantScope, ProviderEvent};
use trace_format::notes::Omission;
use trace_format::{
    encode, Argument, Arguments, Event, EventKind, ReadError, Reader, Record, Text, Thread,
    ThreadKoids, Value, Writer,
};

use super::{check, Report, Verdict};
use crate::pairing::Unpaired;
use crate::testing::{archive, event, THREAD};

fn checked(archive: &[u8]) -> Report {
    check(Reader::new(archive)).unwrap()
}

fn loss<'a>(arguments: &'a [Argument<'a>]) -> Record<'a> {
    Record::Event(Event {
        ticks: 1,
        thread: Thread::Inline(THREAD),
        category: "trace".into(),
        name: "records dropped".into(),
        kind: EventKind::Instant { scope: None },
        arguments: arguments.into(),
    })
}

#[test]
fn a_good_archive_is_complete() {
    let report = checked(&archive(&[
        event(EventKind::DurationBegin, Arguments::NONE),
        event(EventKind::DurationEnd, Arguments::NONE),
    ]));
    assert_eq!(report.verdict(), Verdict::Complete);
    assert_eq!((report.events, report.open_scope_count), (2, 0));
    let provider = &report.providers[0];
    assert_eq!((provider.id, provider.name.as_str(), provider.events), (Some(1), "app", 2));
    // Provider info, a thread, two strings, two events.
    assert_eq!(provider.records, 6);
}

#[test]
fn losses_are_summed_by_thread_and_reason() {
    let reason = Argument::new("reason", Value::String("buffer full".into()));
    let seven = [reason, Argument::new("number", Value::Uint32(7))];
    let forty = [reason, Argument::new("number", Value::Uint64(40))];
    let report = checked(&archive(&[loss(&seven), loss(&forty)]));
    assert_eq!(report.verdict(), Verdict::Lossy);
    assert_eq!(report.damage.records_dropped, 47);
    assert_eq!(report.providers[0].records_dropped, 47);
    let [row] = &report.dropped[..] else { panic!("{:?}", report.dropped) };
    assert_eq!((row.provider, row.reason.as_str(), row.number), (Some(1), "buffer full", 47));
    assert_eq!(row.thread, THREAD);
}

/// A loss of several threads is not one of the main thread.
#[test]
fn a_loss_of_several_threads_has_no_thread() {
    let number = [Argument::new("number", Value::Uint64(7))];
    let of_thread = loss(&number);
    let mut of_process = of_thread;
    if let Record::Event(event) = &mut of_process {
        event.kind = EventKind::Instant { scope: Some(InstantScope::Process) };
    }
    let report = checked(&archive(&[of_thread, of_process]));
    let threads: Vec<_> = report.dropped.iter().map(|row| row.thread).collect();
    assert_eq!(threads, [ThreadKoids::new(THREAD.process, 0), THREAD]);
    let json = report.to_json();
    assert!(json["dropped"][0]["thread"].is_null(), "{json}");
    assert_eq!(json["dropped"][1]["thread"], THREAD.thread);
}

#[test]
fn a_full_buffer_is_a_loss() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    writer.provider_event(1, ProviderEvent::BUFFER_FULL).unwrap();
    // The format defines no other event.
    writer.provider_event(1, ProviderEvent(1)).unwrap();
    let report = checked(&writer.into_inner());
    assert_eq!((report.verdict(), report.damage.buffers_full), (Verdict::Lossy, 1));
}

#[test]
fn omitted_data_is_missing() {
    for omission in Omission::ALL {
        let number = [Argument::new(Omission::NUMBER, Value::Uint64(39_375))];
        let mut record = loss(&number);
        if let Record::Event(event) = &mut record {
            event.name = omission.event().into();
        }
        // The event of an interruption has times instead of a number.
        let number = if omission == Omission::Interruptions { 1 } else { 39_375 };
        let report = checked(&archive(&[record]));
        assert_eq!(report.verdict(), Verdict::Lossy);
        assert_eq!(report.damage.missing().omissions().collect::<Vec<_>>(), [(omission, number)]);
        assert_eq!(report.to_json()["not_recorded"][omission.as_str()], number);
    }
}

fn at(ticks: u64, kind: EventKind) -> Record<'static> {
    let mut record = event(kind, Arguments::NONE);
    if let Record::Event(event) = &mut record {
        event.ticks = ticks;
    }
    record
}

#[test]
fn unpaired_operations_are_counted() {
    let report = checked(&archive(&[
        at(10, EventKind::AsyncBegin { id: 1 }),
        at(20, EventKind::AsyncEnd { id: 1 }),
        at(30, EventKind::AsyncBegin { id: 2 }),
        at(40, EventKind::AsyncBegin { id: 3 }),
        at(50, EventKind::AsyncEnd { id: 4 }),
        at(60, EventKind::FlowEnd { id: 5 }),
    ]));
    assert_eq!(report.verdict(), Verdict::Complete);
    assert!(report.has_unpaired());
    assert_eq!(report.unpaired_operations, Unpaired { begins: 2, ends: 1 });
    assert_eq!((report.ends_without_begin, report.open_scopes.len()), (0, 0));
    let json = report.to_json();
    assert_eq!(
        (&json["operations_without_end"], &json["operations_without_begin"]),
        (&2.into(), &1.into())
    );
}

/// Two threads have the events of a track, and the chunk of the later one is first.
#[test]
fn tracks_of_two_threads_have_no_open_scopes() {
    let report = checked(&archive(&[
        at(30, EventKind::DurationEnd),
        at(40, EventKind::DurationEnd),
        at(10, EventKind::DurationBegin),
        at(20, EventKind::DurationBegin),
    ]));
    assert_eq!((report.open_scope_count, report.ends_without_begin), (0, 0));
}

#[test]
fn an_end_belongs_to_an_earlier_begin() {
    let report = checked(&archive(&[
        at(5, EventKind::DurationEnd),
        at(30, EventKind::DurationBegin),
        at(10, EventKind::DurationBegin),
        at(20, EventKind::DurationEnd),
    ]));
    assert_eq!((report.open_scope_count, report.ends_without_begin), (1, 1));
    assert_eq!(report.open_scopes[0].nanos, 30);
}

#[test]
fn an_end_belongs_to_a_begin_of_its_name() {
    let named = |ticks, name, kind| match at(ticks, kind) {
        Record::Event(event) => Record::Event(Event { name: Text::from(name), ..event }),
        record => record,
    };
    let report = checked(&archive(&[
        named(10, "outer", EventKind::DurationBegin),
        named(20, "inner", EventKind::DurationBegin),
        named(30, "outer", EventKind::DurationEnd),
        named(40, "inner", EventKind::DurationEnd),
        named(50, "last", EventKind::DurationBegin),
        named(60, "", EventKind::DurationEnd),
    ]));
    assert_eq!((report.open_scope_count, report.ends_without_begin), (1, 1));
    assert_eq!((report.open_scopes[0].name.as_str(), report.open_scopes[0].nanos), ("inner", 20));
}

#[test]
fn open_scopes_are_listed_and_not_a_loss() {
    let report = checked(&archive(&[
        at(1400, EventKind::DurationEnd),
        event(EventKind::DurationBegin, Arguments::NONE),
    ]));
    assert_eq!(report.verdict(), Verdict::Complete);
    assert_eq!((report.open_scope_count, report.ends_without_begin), (1, 1));
    let scope = &report.open_scopes[0];
    assert_eq!((scope.category.as_str(), scope.name.as_str()), ("cat", "name"));
    assert_eq!((scope.thread, scope.nanos), (THREAD, 1500));
}

#[test]
fn open_scopes_beyond_the_limit_are_counted() {
    let begins = |thread: u64| {
        Record::Event(Event {
            ticks: thread,
            thread: Thread::Inline(ThreadKoids::new(1, thread)),
            category: "cat".into(),
            name: "name".into(),
            kind: EventKind::DurationBegin,
            arguments: Arguments::NONE,
        })
    };
    let records: Vec<Record<'_>> = (0..200_000).map(|at| begins(at % 3 + at / 190_000)).collect();
    let report = checked(&archive(&records));
    assert_eq!(report.open_scope_count, 200_000);
    assert_eq!(report.open_scopes.len(), 1000);
}

#[test]
fn unknown_references_make_an_archive_malformed() {
    let mut input = archive(&[]);
    let mut record = event(EventKind::DurationEnd, Arguments::NONE);
    if let Record::Event(event) = &mut record {
        event.name = Text::Indexed(77);
        event.thread = Thread::Indexed(3);
    }
    let mut words = Vec::new();
    encode::append(&mut words, &record).unwrap();
    input.extend_from_slice(&encode::to_bytes(&words));
    let report = checked(&input);
    assert_eq!(report.verdict(), Verdict::Malformed);
    assert_eq!((report.damage.audit.unknown_strings, report.damage.audit.unknown_threads), (1, 1));
}

#[test]
fn another_file_is_malformed() {
    let report = checked(b"GIF89a..");
    assert_eq!(report.verdict(), Verdict::Malformed);
    assert_eq!(report.errors, ["not a trace: it starts with 0x2e2e613938464947"]);
    assert!(matches!(report.no_archive, Some(ReadError::NotAnArchive { .. })));
}

#[test]
fn a_cut_archive_is_malformed() {
    let mut input = archive(&[event(EventKind::DurationBegin, Arguments::NONE)]);
    input.truncate(input.len() - 1);
    let report = checked(&input);
    assert_eq!(report.verdict(), Verdict::Malformed);
    assert_eq!(report.error_count, 1);
    assert!(report.errors[0].starts_with("the trace ends within the record at byte"));
}

#[test]
fn the_first_errors_have_a_message() {
    let mut input = archive(&[]);
    for _ in 0..12 {
        // A string record that is shorter than its string.
        input.extend_from_slice(&0x0000_0009_0001_0012_u64.to_le_bytes());
    }
    let report = checked(&input);
    assert_eq!((report.error_count, report.errors.len()), (12, 10));
}

#[test]
fn json_has_all_parts() {
    let forty = [Argument::new("number", Value::Uint64(40))];
    let begin = event(EventKind::DurationBegin, Arguments::NONE);
    let json = checked(&archive(&[loss(&forty), begin])).to_json();
    assert_eq!(json["verdict"], "lossy");
    assert_eq!(json["providers"][0]["name"], "app");
    assert_eq!(json["dropped"][0]["number"], 40);
    assert_eq!(json["open_scopes"][0]["name"], "name");
    assert_eq!(json["open_scopes"][0]["ns"], 1500);
}

/// The clocks of an anchor.
const CLOCKS: [Argument<'_>; 3] = [
    Argument { name: Text::Inline(b"realtime_ns"), value: Value::Uint64(3) },
    Argument { name: Text::Inline(b"monotonic_ns"), value: Value::Uint64(2) },
    Argument { name: Text::Inline(b"boottime_ns"), value: Value::Uint64(2) },
];

fn anchor<'a>(scope: Option<InstantScope>, clocks: &'a [Argument<'a>]) -> Event<'a> {
    Event {
        ticks: 1,
        thread: Thread::Inline(THREAD),
        category: "trace".into(),
        name: "clock anchor".into(),
        kind: EventKind::Instant { scope },
        arguments: clocks.into(),
    }
}

/// Returns an archive of two providers, which ends after `anchors` of their clock anchors.
fn of_two_providers(anchors: usize) -> Vec<u8> {
    let anchor = anchor(Some(InstantScope::Global), &CLOCKS);
    let mut writer = Writer::new(Vec::new()).unwrap();
    // Both open, and both close.
    for id in [1, 2, 1, 2].into_iter().take(anchors) {
        writer.provider(id, "app").unwrap();
        writer.record(&anchor.into()).unwrap();
        writer.record(&event(EventKind::DurationBegin, Arguments::NONE)).unwrap();
        writer.record(&event(EventKind::DurationEnd, Arguments::NONE)).unwrap();
    }
    writer.into_inner()
}

/// A recording that was cut between two records has no other error.
#[test]
fn an_archive_without_its_last_clock_anchors_ends_early() {
    for (anchors, early) in [(0, 0), (1, 1), (2, 2), (3, 1), (4, 0)] {
        let report = checked(&of_two_providers(anchors));
        assert_eq!(report.damage.missing().ends_early, early, "{anchors}");
        assert_eq!(report.events, 2 * anchors as u64, "clock anchors are not counted");
        assert_eq!(report.providers.iter().map(|each| each.events).sum::<u64>(), report.events);
        assert_eq!(report.to_json()["ends_early"], early);
        let expected = if early == 0 { Verdict::Complete } else { Verdict::Lossy };
        assert_eq!(report.verdict(), expected, "{anchors}");
    }
}

/// Instants of the same name, as a JSON file may have them, are no clock anchors.
#[test]
fn other_instants_are_not_clock_anchors() {
    let global = Some(InstantScope::Global);
    let early = |provider: bool, event: Event<'_>| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        if provider {
            writer.provider(1, "app").unwrap();
        }
        writer.record(&event.into()).unwrap();
        checked(&writer.into_inner()).damage.ends_early()
    };
    assert_eq!(early(true, anchor(global, &CLOCKS)), 1);
    assert_eq!(early(false, anchor(global, &CLOCKS)), 0, "without a provider");
    assert_eq!(early(true, anchor(None, &CLOCKS)), 0, "not global");
    assert_eq!(early(true, anchor(global, &CLOCKS[..2])), 0, "without a clock");
}
