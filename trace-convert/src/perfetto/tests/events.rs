//! Events.

use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Arguments, Event, EventKind, Reader, Record, Text, Thread, ThreadKoids, Value,
};

use super::{all, convert, on_thread, write, TRACKS};
use crate::testing::{archive, event, THREAD};

fn plain(kind: EventKind) -> Record<'static> {
    event(kind, Arguments::NONE)
}

fn at(ticks: u64, record: Record<'_>) -> Record<'_> {
    match record {
        Record::Event(event) => Record::Event(Event { ticks, ..event }),
        record => record,
    }
}

#[test]
fn durations() {
    on_thread(&[plain(EventKind::DurationBegin)], &["1500 begin @2 cat:name"]);
    on_thread(&[plain(EventKind::DurationEnd)], &["1500 end @2 cat:name"]);
    let whole = plain(EventKind::DurationComplete { end: 4000 });
    on_thread(&[whole], &["1500 begin @2 cat:name", "4000 end @2"]);
    let (_, conversion) = convert(&[plain(EventKind::DurationComplete { end: 4 })]);
    assert_eq!(conversion.reversed_durations, 1);
}

#[test]
fn overlapping_durations_get_a_further_track() {
    let whole = |from, end| at(from, plain(EventKind::DurationComplete { end }));
    let expected = [
        "100 begin @2 cat:name",
        "200 end @2",
        "track 3 < 2 \"overlapping\"",
        "150 begin @3 cat:name",
        "250 end @3",
    ];
    on_thread(&[whole(100, 200), whole(150, 250)], &expected);
}

#[test]
fn instants_are_on_the_track_of_their_scope() {
    let scoped = |scope| plain(EventKind::Instant { scope });
    on_thread(&[scoped(None)], &["1500 instant @2 cat:name"]);
    on_thread(&[scoped(Some(InstantScope::Thread))], &["1500 instant @2 cat:name"]);
    let process = ["track 2 < 1 \"process events\"", "1500 instant @2 cat:name"];
    all(&[scoped(Some(InstantScope::Process))], &[process[0], process[1], TRACKS[0]]);
    let global = ["track 1 \"global events\"", "1500 instant @1 cat:name"];
    all(&[scoped(Some(InstantScope::Global))], &global);
}

#[test]
fn arguments_of_all_types() {
    let values = [
        (Value::Null, "\"null\""),
        (Value::Int32(-1), "-1"),
        (Value::Uint32(1), "1u"),
        (Value::Int64(i64::MIN), "-9223372036854775808"),
        (Value::Uint64(i64::MAX as u64), "9223372036854775807u"),
        (Value::Uint64(u64::MAX), "\"18446744073709551615\""),
        (Value::Double(0.5), "0.5"),
        (Value::Double(f64::NAN), "\"NaN\""),
        (Value::Double(f64::NEG_INFINITY), "\"-inf\""),
        (Value::String("text".into()), "\"text\""),
        (Value::Pointer(u64::MAX), "0xffffffffffffffff"),
        (Value::Koid(7), "7u"),
        (Value::Bool(true), "true"),
        (Value::Blob(b"\x01\xab"), "\"01ab\""),
    ];
    for (value, expected) in values {
        let arguments = [Argument::new("key", value)];
        let record = event(EventKind::Instant { scope: None }, &arguments);
        on_thread(&[record], &[&format!("1500 instant @2 cat:name key={expected}")]);
    }
}

#[test]
fn counters_have_a_track_for_each_value() {
    let arguments = [
        Argument::new("a", Value::Int32(-5)),
        Argument::new("b", Value::Double(0.5)),
        Argument::new("c", Value::Uint64(u64::MAX)),
        Argument::new("d", Value::Bool(true)),
        Argument::new("e", Value::Double(f64::NAN)),
        Argument::new("tef:id", Value::Int32(7)),
    ];
    let record = event(EventKind::Counter { id: 9 }, &arguments);
    let (lines, conversion) = convert(&[record]);
    let expected = [
        "track 2 < 1 counter \"name:a:9\"",
        "1500 counter @2 -5",
        "track 3 < 1 counter \"name:b:9\"",
        "1500 counter @3 0.5",
        "track 4 < 1 counter \"name:c:9\"",
        "1500 counter @4 1.8446744073709552e19",
        TRACKS[0],
    ];
    assert_eq!(lines, expected);
    assert_eq!(conversion.counter_values_left_out, 2);
}

#[test]
fn flows_are_on_the_thread_s_track() {
    let id = u64::MAX;
    let kinds = [
        (EventKind::FlowBegin { id }, 's'),
        (EventKind::FlowStep { id }, 't'),
        (EventKind::FlowEnd { id }, 'f'),
    ];
    for (kind, phase) in kinds {
        let expected = format!("1500 flow {phase}#ffffffffffffffff @2 cat:name");
        on_thread(&[plain(kind)], &[&expected]);
        let arguments = [Argument::new("a", Value::Int32(7))];
        let shown =
            [&expected, "track 3 < 1 \"flow events\"", "1500 instant @3 cat:name a=7 thread=34u"];
        on_thread(&[event(kind, &arguments)], &shown);
    }
}

/// An end closes the begin of its name, as in Perfetto's importer for documents.
#[test]
fn ends_without_a_name_close_any_begin() {
    let Record::Event(end) = plain(EventKind::DurationEnd) else { unreachable!() };
    let (category, name) = (Text::EMPTY, Text::EMPTY);
    on_thread(&[Event { category, ..end }.into()], &["1500 end @2 name"]);
    on_thread(&[Event { category, name, ..end }.into()], &["1500 end @2"]);
}

#[test]
fn flows_of_documents_bind_as_specified() {
    let binding = |arguments: &[Argument<'_>]| {
        let flow = event(EventKind::FlowEnd { id: 1 }, arguments);
        let (lines, _) = convert(&[flow]);
        assert_eq!(lines[1..], TRACKS, "no instant for what is carried");
        lines[0].clone()
    };
    let absent = |keys: &'static str| [Argument::new("tef:absent", Value::String(keys.into()))];
    assert_eq!(binding(&absent("tid")), "1500 flow f#1 @2 cat:name");
    assert_eq!(binding(&absent("tid,bp")), "1500 flow f#1 to the next @2 cat:name");
}

#[test]
fn each_operation_has_a_track() {
    let id = u64::MAX;
    let records = [
        plain(EventKind::AsyncBegin { id }),
        plain(EventKind::AsyncInstant { id }),
        plain(EventKind::AsyncEnd { id }),
    ];
    let expected = [
        "track op < 1 \"name\"",
        "1500 begin @op cat:name async id=0xffffffffffffffff",
        "1500 instant @op cat:name async id=0xffffffffffffffff",
        "1500 end @op cat:name",
        TRACKS[0],
    ];
    all(&records, &expected);
}

#[test]
fn operations_are_nested_in_any_order() {
    let parent = plain(EventKind::AsyncBegin { id: 1 });
    let arguments = [Argument::new("parent", Value::Uint64(1))];
    let child = event(EventKind::AsyncBegin { id: 2 }, &arguments);
    let ends = plain(EventKind::AsyncEnd { id: 2 });
    for records in [[parent, child, ends], [ends, child, parent], [child, parent, ends]] {
        let (lines, _) = convert(&records);
        let tracks: Vec<&str> =
            lines.iter().map(|line| &**line).filter(|line| line.starts_with("track op")).collect();
        assert_eq!(tracks, ["track op < 1 \"name\"", "track op < op \"name\" apart"]);
    }
    // The parent is missing.
    let (lines, _) = convert(&[child]);
    assert_eq!(lines[1..], ["track op < 1 \"name\" apart", TRACKS[0]]);
    // The begin is missing, too.
    let (lines, _) = convert(&[ends]);
    assert_eq!(lines, ["1500 end @op cat:name", "track op < 1 \"name\"", TRACKS[0]]);
}

/// Tracks without a begin get a descriptor at the end.
#[test]
fn descriptors_have_a_fixed_order() {
    let records: Vec<_> = (0..32).map(|id| plain(EventKind::AsyncEnd { id })).collect();
    let archive = archive(&records);
    let converted = || {
        let mut output = Vec::new();
        write(Reader::new(&*archive), &mut output).unwrap();
        output
    };
    assert!(converted() == converted());
}

#[test]
fn koids_beyond_linux_ids_become_tracks() {
    let on = |process, thread| {
        let Record::Event(event) = plain(EventKind::DurationBegin) else { unreachable!() };
        let thread = Thread::Inline(ThreadKoids::new(process, thread));
        Record::Event(Event { thread, ..event })
    };
    let tracks = |process, thread| {
        let (mut lines, _) = convert(&[on(process, thread)]);
        assert_eq!(lines.remove(0), "1500 begin @2 cat:name");
        lines
    };
    let own = tracks(THREAD.process, 1 << 63 | 5);
    assert_eq!(own, [TRACKS[0], "track 2 < 1 \"thread 0x8000000000000005\""]);
    let large = tracks(1 << 40, 3);
    assert_eq!(large, ["track 1 \"process 0x10000000000\"", "track 2 < 1 \"thread 0x3\""]);
    let unknown = tracks(0, 0);
    assert_eq!(unknown, ["track 1 \"unknown process\"", "track 2 < 1 \"unknown thread\""]);
}
