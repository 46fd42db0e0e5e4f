//! The records that only the writer of an archive adds, as a reader finds them.
#![cfg(not(loom))]
#![allow(missing_docs)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trace_format::encode::to_bytes;
use trace_format::layout::{InstantScope, ObjectType};
use trace_format::notes::Omission;
use trace_format::{EventKind, Metadata, Reader, Record, Value};
use trace_protocol::archive::{self, ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::Unreported;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::message::ClockSource;

const PID: u64 = 4711;

fn identity(clock: ClockSource) -> Identity {
    Identity {
        id: 3,
        name: "provider".to_owned(),
        process_name: "process".to_owned(),
        pid: PID as u32,
        uid: 1000,
        clock,
    }
}

/// An instant: its thread, name, scope, time and arguments.
type Instant = (u64, String, InstantScope, u64, Vec<(String, u64)>);

/// Returns what records say, of instants all of it.
fn read(words: &[u64]) -> (Vec<String>, Vec<Instant>) {
    let bytes = to_bytes(words);
    let mut reader = Reader::new(&bytes[..]);
    let (mut others, mut instants) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Event(event) => {
                let EventKind::Instant { scope: Some(scope) } = event.kind else { panic!() };
                assert_eq!(item.text(event.category), "trace");
                let thread = item.thread(event.thread);
                assert_eq!(thread.process, PID);
                let number = |value| match value {
                    Value::Uint64(number) => number,
                    Value::Uint32(number) => number.into(),
                    Value::String(text) => reason(&item.text(text)),
                    value => panic!("{value:?}"),
                };
                let arguments = event.arguments.iter().map(|argument| {
                    (item.text(argument.name).into_owned(), number(argument.value))
                });
                let name = item.text(event.name).into_owned();
                instants.push((thread.thread, name, scope, event.ticks, arguments.collect()));
            }
            Record::KernelObject(object) => {
                assert_eq!(object.object_type, ObjectType::PROCESS);
                let argument = object.arguments.iter().next().unwrap();
                others.push(format!(
                    "process {} {} {}={:?}",
                    object.koid,
                    item.text(object.name),
                    item.text(argument.name),
                    argument.value
                ));
            }
            Record::Metadata(Metadata::ProviderInfo { id, name }) => {
                others.push(format!("provider {id} {}", String::from_utf8_lossy(name)));
            }
            Record::Metadata(metadata) => others.push(format!("{metadata:?}")),
            record => others.push(format!("{record:?}")),
        }
    }
    (others, instants)
}

/// Returns a number for a reason.
fn reason(text: &str) -> u64 {
    let known = LossReason::ALL.iter().position(|reason| reason.as_str() == text);
    known
        .map_or_else(|| if text == Closing::REASON { 99 } else { panic!("{text}") }, |at| at as u64)
}

fn argument(instant: &Instant, name: &str) -> u64 {
    instant.4.iter().find(|(key, _)| key == name).unwrap().1
}

#[test]
fn an_archive_opens_with_provider_clock_process_and_anchor() {
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = ClockSample::now();
    let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut words = Vec::new();
    archive::magic(&mut words);
    let rate = archive::opening(&mut words, &identity(ClockSource::Boottime), 77, &now);
    archive::section(&mut words, 8);
    assert_eq!(words[rate], 77, "the rate can be corrected in its place");
    let (others, instants) = read(&words);
    assert_eq!(
        others,
        [
            "MagicNumber",
            "provider 3 provider",
            "Initialization { ticks_per_second: 77 }",
            "process 4711 process uid=Uint32(1000)",
            "ProviderSection { id: 8 }",
        ]
    );
    let [anchor] = &instants[..] else { panic!("{instants:?}") };
    assert_eq!((anchor.0, &*anchor.1, anchor.2), (PID, "clock anchor", InstantScope::Global));
    assert_eq!(argument(anchor, "ticks"), anchor.3);
    assert_eq!(argument(anchor, "boottime_ns"), anchor.3, "ticks are of that clock");
    let realtime = Duration::from_nanos(argument(anchor, "realtime_ns"));
    assert!((before..=after).contains(&realtime), "{before:?} {realtime:?} {after:?}");
    let monotonic = argument(anchor, "monotonic_ns");
    assert!(monotonic != 0 && monotonic <= anchor.3 + 1_000_000_000, "{monotonic} {}", anchor.3);
    assert_eq!(now.ticks(ClockSource::Boottime), anchor.3);
}

#[test]
fn nothing_is_added_behind_a_provider_that_lost_nothing() {
    let mut words = Vec::new();
    archive::magic(&mut words);
    let closing = Closing {
        dropped: 0,
        reported: 0,
        refused: 0,
        unreported: Vec::new(),
        reported_later: None,
        overwritten: 0,
        from: 1,
        to: 2,
    };
    closing.write(&mut words, &identity(ClockSource::CpuCounter));
    assert_eq!(read(&words), (vec!["MagicNumber".to_owned()], Vec::new()));
    let now = ClockSample::now();
    closing.write_now(&mut words, &identity(ClockSource::CpuCounter), &now);
    let (_, instants) = read(&words);
    let [anchor] = &instants[..] else { panic!("{instants:?}") };
    assert_eq!(&anchor.1, "clock anchor");
    assert_eq!(anchor.3, now.ticks(ClockSource::CpuCounter));
}

#[test]
fn losses_refusals_and_overwritten_buffers_are_reported_at_the_end() {
    let lost = |reason, thread, number| Unreported { reason, thread, number, from: 10, to: 20 };
    let closing = Closing {
        dropped: 100,
        reported: 60,
        refused: 5,
        unreported: vec![
            lost(LossReason::BufferFull, Some(7), 30),
            lost(LossReason::NoSlot, None, 4),
        ],
        reported_later: None,
        overwritten: 2,
        from: 1,
        to: 99,
    };
    let mut words = Vec::new();
    archive::magic(&mut words);
    closing.write(&mut words, &identity(ClockSource::CpuCounter));
    let (others, instants) = read(&words);
    assert!(others[1].starts_with("ProviderEvent { id: 3"), "{others:?}");
    let loss = |thread, scope, time, reason: u64, number, from| {
        let arguments = [("reason", reason), ("number", number), ("from", from), ("to", time)];
        let arguments = arguments.map(|(key, value): (&str, u64)| (key.to_owned(), value));
        (thread, "records dropped".to_owned(), scope, time, arguments.to_vec())
    };
    let one = |name: &str, key: &str, number| {
        (PID, name.to_owned(), InstantScope::Process, 99, vec![(key.to_owned(), number)])
    };
    assert_eq!(
        instants,
        [
            loss(7, InstantScope::Thread, 20, LossReason::BufferFull as u64, 30, 10),
            loss(PID, InstantScope::Process, 20, LossReason::NoSlot as u64, 4, 10),
            loss(PID, InstantScope::Process, 99, 99, 6, 1),
            one(Omission::Refused.event(), "number", 5),
            one("older records overwritten", "buffers", 2),
        ]
    );
}

/// A provider's table may claim more than it lost in all.
#[test]
fn all_events_together_report_as_many_losses_as_there_are() {
    let reason = LossReason::NotSaved;
    let unreported = Unreported { reason, thread: None, number: 50, from: 1, to: 2 };
    let closing = Closing {
        dropped: 10,
        reported: 3,
        refused: 0,
        unreported: vec![unreported, unreported],
        reported_later: None,
        overwritten: 0,
        from: 1,
        to: 2,
    };
    let mut words = Vec::new();
    archive::magic(&mut words);
    closing.write(&mut words, &identity(ClockSource::CpuCounter));
    let (_, instants) = read(&words);
    let numbers: Vec<_> = instants.iter().map(|instant| argument(instant, "number")).collect();
    assert_eq!(numbers, [7]);
}

#[test]
fn losses_that_a_later_part_reports_are_counted_only() {
    let reason = LossReason::NotSaved;
    let unreported = Unreported { reason, thread: None, number: 5, from: 1, to: 2 };
    let written = |reported_later| {
        let closing = Closing {
            dropped: 5,
            reported: 0,
            refused: 0,
            unreported: vec![unreported],
            reported_later: Some(reported_later),
            overwritten: 0,
            from: 1,
            to: 2,
        };
        let mut words = Vec::new();
        archive::magic(&mut words);
        closing.write(&mut words, &identity(ClockSource::CpuCounter));
        closing.write_reported_later(&mut words, &identity(ClockSource::CpuCounter));
        let (_, instants) = read(&words);
        let number = |instant: &Instant| (instant.1.clone(), argument(instant, "number"));
        instants.iter().map(number).collect::<Vec<_>>()
    };
    assert_eq!(written(0), []);
    assert_eq!(written(5), [(Omission::ReportedLater.event().to_owned(), 5)]);
}
