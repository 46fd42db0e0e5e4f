//! Logs as archives.

#[path = "../common/mod.rs"]
mod common;
mod export;

use std::io::Read;

use common::Made;
use trace_analyze::input::InputFormat;
use trace_analyze::stats::{self, Grouping};
use trace_format::{encode, Event, EventKind, Item, Reader, Thread, ThreadKoids, Value, Writer};
use trace_xray::calls::Limits;
use trace_xray::fxt::{record_of_payload, Exported, Fdr, Translator};
use trace_xray::layout::{Action, ByteOrder, Version, FILLER, UNKNOWN_CPU};
use trace_xray::map::{self, Map};
use trace_xray::{
    CustomEvent, EventTime, Format, FunctionId, FunctionRecord, Header, Record, TypedEvent,
};

const V5: Format = Format::little(Version::V5);

fn names() -> Map {
    Map::parse(&map::write(&["main", "work", "_ZN3net4pollEi"], None).unwrap()).unwrap()
}

/// Returns a log with one thread buffer.
fn log(format: Format, content: impl FnOnce(&mut Made)) -> Vec<u8> {
    let mut log = Made::new(format, 512);
    log.buffer(|log| {
        log.start(7, 8);
        content(log);
    });
    log.bytes
}

fn archive(log: &[u8]) -> Vec<u8> {
    assert!(Fdr::default().detects(log));
    let mut archive = Vec::new();
    Fdr { map: names() }.open(Box::new(log)).unwrap().read_to_end(&mut archive).unwrap();
    archive
}

/// Returns the events and messages of a log as text.
fn lines(log: &[u8]) -> Vec<String> {
    let archive = archive(log);
    let mut reader = Reader::new(&archive[..]);
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        lines.extend(line(&item));
    }
    lines
}

fn line(item: &Item<'_>) -> Option<String> {
    let event = match item.record {
        trace_format::Record::Event(event) => event,
        trace_format::Record::Log(log) => return Some(String::from_utf8_lossy(log.message).into()),
        trace_format::Record::LargeBlob(blob) => {
            let (name, size) = (item.text(blob.name), blob.payload.len());
            return Some(format!("blob {} {name} {size}", blob.event.unwrap().ticks));
        }
        _ => return None,
    };
    let koids = item.thread(event.thread);
    let mut line = format!(
        "{} {}/{} {}:{} {:?}",
        event.ticks,
        koids.process,
        koids.thread,
        item.text(event.category),
        item.text(event.name),
        event.kind
    );
    for argument in &event.arguments {
        let value = match argument.value {
            Value::String(text) => item.text(text).into_owned(),
            value => format!("{value:?}"),
        };
        line += &format!(" {}={value}", item.text(argument.name));
    }
    // Each log has one.
    let is_wall_clock = line.contains("xray:wall clock");
    (!is_wall_clock).then(|| line.replace("Instant { scope: Some(Thread) }", "Instant"))
}

const CPU: &str = "1000 7/8 xray:CPU Instant number=Uint32(1)";

#[test]
fn calls_are_durations() {
    let log = log(V5, |log| {
        log.function(Action::Entry, 1, 5);
        log.function(Action::EntryArgs, 2, 10);
        log.put(Record::CallArgument { value: 77 });
        log.put(Record::CallArgument { value: 1 << 40 });
        log.function(Action::Exit, 2, 10);
        log.function(Action::EntryArgs, 3, 0);
        log.put(Record::CallArgument { value: 9 });
        log.function(Action::TailExit, 3, 1);
        log.function(Action::Exit, 1, 2);
    });
    assert_eq!(
        lines(&log),
        [
            CPU,
            "1005 7/8 xray:main DurationBegin",
            "1015 7/8 xray:work DurationBegin arg0=Uint64(77) arg1=Uint64(1099511627776)",
            "1025 7/8 xray:work DurationEnd",
            "1025 7/8 xray:net::poll(int) DurationBegin arg0=Uint64(9)",
            "1026 7/8 xray:net::poll(int) DurationEnd tail_exit=Bool(true)",
            "1028 7/8 xray:main DurationEnd",
        ]
    );
}

#[test]
fn calls_without_an_entry_or_an_exit_are_reported() {
    let log = log(V5, |log| {
        log.function(Action::Exit, 3, 1);
        log.function(Action::Entry, 1, 1);
        log.function(Action::Entry, 2, 1);
        log.function(Action::Entry, 4, 1);
        log.function(Action::Exit, 2, 10);
        log.function(Action::EntryArgs, 2, 1);
        log.put(Record::CallArgument { value: 5 });
    });
    assert_eq!(
        lines(&log),
        [
            CPU,
            "1001 7/8 xray:net::poll(int) DurationEnd",
            "1002 7/8 xray:main DurationBegin",
            "1003 7/8 xray:work DurationBegin",
            "1004 7/8 xray:#4 DurationBegin",
            "1014 7/8 xray:#4 DurationEnd unwound=Bool(true)",
            "1014 7/8 xray:work DurationEnd",
            "1015 7/8 xray:work DurationBegin arg0=Uint64(5)",
            "calls that a caller's exit ends: 1",
            "exits without an entry: 1",
        ]
    );
    let report = stats::collect(Reader::new(&archive(&log)[..]), Grouping::Together, None).unwrap();
    assert_eq!(report.oddities.begins_without_end, 2);
    assert_eq!(report.oddities.ends_without_begin, 1);
    assert!(report.damage.is_none());
}

fn custom(version: Version, payload: &[u8]) -> Record<'_> {
    let time = match version {
        Version::V5 => EventTime::Delta(3),
        Version::V4 => EventTime::Absolute { tsc: 1003, cpu: Some(1) },
        _ => EventTime::Absolute { tsc: 1003, cpu: None },
    };
    Record::CustomEvent(CustomEvent { time, payload })
}

#[test]
fn events_have_their_payload() {
    let long = vec![0xff; 40_000];
    let log = log(V5, |log| {
        log.put(custom(Version::V5, b"hello"));
        log.put(custom(Version::V5, &[0xff, 1]));
        log.put(Record::TypedEvent(TypedEvent { delta: 1, event_type: 42, payload: b"typed" }));
        log.put(custom(Version::V5, &long));
    });
    assert_eq!(
        lines(&log),
        [
            CPU,
            "1003 7/8 xray:custom event Instant payload=hello",
            "1006 7/8 xray:custom event Instant payload=Blob([255, 1])",
            "1007 7/8 xray:typed event Instant type=Uint32(42) payload=typed",
            "blob 1010 custom event 40000",
        ]
    );
}

/// A program's payload may begin as a filler does.
#[test]
fn only_fillers_are_left_out() {
    for version in Version::ALL {
        let log = log(Format::little(version), |log| {
            for zeros in [1, 15, 16] {
                log.put(custom(version, &[&FILLER[..], &vec![0; zeros]].concat()));
            }
            log.put(custom(version, &[&FILLER[..], b"text"].concat()));
            log.put(custom(version, b"padding"));
        });
        let lines = lines(&log);
        let payloads: Vec<_> =
            lines.iter().filter_map(|line| line.split("payload=").nth(1)).collect();
        let long = format!("padding\0{}", "\0".repeat(16));
        assert_eq!(payloads, [&*long, "padding\0text", "padding"], "{version:?}");
    }
}

#[test]
fn records_in_custom_events_come_back() {
    let arguments = [trace_format::Argument::new("size", Value::Int32(-3))];
    let event = Event {
        ticks: 1003,
        thread: Thread::Inline(ThreadKoids::new(70, 80)),
        category: "net".into(),
        name: "sent".into(),
        kind: EventKind::Counter { id: 5 },
        arguments: (&arguments).into(),
    };
    let mut words = Vec::new();
    encode::append(&mut words, &event.into()).unwrap();
    let payload = encode::to_bytes(&words);
    assert_eq!(record_of_payload(&payload), Some(event.into()));
    for version in Version::ALL {
        let log = log(Format::little(version), |log| log.put(custom(version, &payload)));
        let expected = "1003 70/80 net:sent Counter { id: 5 } size=Int32(-3)";
        assert_eq!(lines(&log).last().map(String::as_str), Some(expected), "{version:?}");
    }
}

#[test]
fn other_payloads_are_no_records() {
    let words = |words: &[u64]| encode::to_bytes(words);
    let mut archive = Writer::new(Vec::new()).unwrap();
    archive.initialization(5).unwrap();
    let archive = archive.into_inner();
    let others: [&[u8]; 6] = [
        b"",
        b"hello world, 24 bytes...",
        &archive[..8],
        &archive[8..],
        // An event with a string of the table.
        &words(&[0x0001_0000_0000_0044, 0, 0, 0]),
        // The same with an appended word.
        &words(&[0x64, 0, 0, 0, 0, 0]),
    ];
    for payload in others {
        assert_eq!(record_of_payload(payload), None, "{payload:?}");
    }
    assert!(record_of_payload(&words(&[0x44, 0, 0, 0])).is_some());
}

#[test]
fn damage_is_a_loss() {
    let mut bytes = log(V5, |log| {
        log.function(Action::Entry, 1, 5);
        log.function(Action::EntryArgs, 2, 5);
        log.put(Record::CallArgument { value: 6 });
    });
    let end = bytes.len() - 8;
    bytes.truncate(end);
    let lines = lines(&bytes);
    assert_eq!(lines[2], "1010 7/8 xray:work DurationBegin");
    let loss = format!(
        "1010 7/8 trace:records dropped Instant reason=the log is cut off at byte {}: 8 of 16 bytes number=Uint64(1)",
        end - 8
    );
    assert_eq!(lines[3..], [loss]);
    let report =
        stats::collect(Reader::new(&archive(&bytes)[..]), Grouping::Together, None).unwrap();
    assert_eq!(report.damage.records_dropped, 1);
}

/// By a TscWrap record, and by a CPU whose counter is behind.
#[test]
fn calls_during_which_time_goes_back_are_complete() {
    let back = [Record::TscWrap { tsc: 100 }, Record::NewCpuId { cpu: 2, tsc: 100 }];
    for back in back {
        let log = log(V5, |log| {
            log.put(Record::TscWrap { tsc: 1 << 32 });
            log.function(Action::Entry, 1, 0);
            log.put(back);
            log.function(Action::Entry, 2, 1);
            log.function(Action::Exit, 2, 1);
            log.function(Action::Exit, 1, 1);
        });
        let lines = lines(&log);
        let summary = "entries and exits before the one before them: 3";
        assert_eq!(lines.last().map(String::as_str), Some(summary));
        let report = stats::collect(Reader::new(&archive(&log)[..]), Grouping::Together, None);
        assert_eq!(report.unwrap().oddities, Default::default(), "{lines:?}");
        let times = lines.iter().filter(|line| line.contains("Duration"));
        assert!(times.clone().all(|line| line.starts_with("4294967296 ")), "{lines:?}");
        assert_eq!(times.count(), 4);
    }
}

/// In logs without processes, threads may have the same id.
#[test]
fn calls_do_not_end_in_another_log() {
    let format = Format::little(Version::V1);
    let mut bytes = log(format, |log| log.function(Action::Entry, 1, 1));
    bytes.extend(log(format, |log| log.function(Action::Exit, 1, 2)));
    // The thread buffers have no padding.
    let report = stats::collect(Reader::new(&archive(&bytes)[..]), Grouping::Together, None);
    let oddities = report.unwrap().oddities;
    assert_eq!((oddities.begins_without_end, oddities.ends_without_begin), (1, 1));
}

#[test]
fn errors_of_headers_reach_the_user() {
    let whole = log(V5, |log| log.function(Action::Entry, 1, 5));
    let changed = |at: usize, byte| {
        let mut log = whole.clone();
        log[at] = byte;
        log
    };
    let mut basic = changed(2, 0);
    basic.splice(16.., [0; 48]);
    for (log, reason) in [
        (basic, "the log is of basic mode, not of flight data recorder"),
        (changed(0, 6), "version 6 is not supported"),
        (changed(0, 0), "version 0 is not supported"),
        (whole[..20].to_vec(), "the header is cut off after 20 bytes"),
    ] {
        assert!(Fdr::default().detects(&log), "{reason}");
        let error = Fdr::default().open(Box::new(&log[..])).err().unwrap().to_string();
        assert_eq!(error, format!("invalid header at byte 0: {reason}"));
    }
}

/// Also if the first error is known before the first record.
#[test]
fn a_damaged_log_has_one_provider() {
    let mut log = log(Format::little(Version::V1), |log| log.function(Action::Entry, 1, 5));
    log.extend([0; 20]);
    let archive = archive(&log);
    let mut reader = Reader::new(&archive[..]);
    let mut providers = 0;
    while let Some(item) = reader.next().unwrap() {
        let trace_format::Record::Metadata(metadata) = item.record else { continue };
        let is_provider = matches!(metadata, trace_format::record::Metadata::ProviderInfo { .. });
        providers += usize::from(is_provider);
    }
    assert_eq!(providers, 1);
    assert!(lines(&log).iter().any(|line| line.contains("padding")), "{:?}", lines(&log));
}

#[test]
fn several_logs_have_their_own_rates() {
    let mut bytes = log(V5, |log| log.function(Action::Entry, 1, 5));
    let header = Header {
        format: Format { version: Version::V3, order: ByteOrder::Big },
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 500_000_000,
        buffer_size: 512,
        map_id: 0,
    };
    let second = log(header.format, |log| log.function(Action::Entry, 2, 5));
    bytes.extend(trace_xray::write::encode::header(&header));
    bytes.extend(&second[32..]);
    let archive = archive(&bytes);
    let mut reader = Reader::new(&archive[..]);
    let mut begins = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let trace_format::Record::Event(Event {
            ticks, kind: EventKind::DurationBegin, ..
        }) = item.record
        {
            begins.push((item.provider.name().to_owned(), item.nanos(ticks)));
        }
    }
    assert_eq!(begins, [("xray".to_owned(), 1005), ("xray".to_owned(), 2010)]);
}

/// Applies records without a reader: the limits are small.
#[test]
fn calls_beyond_the_limits_are_a_loss() {
    let bytes = log(V5, |log| {
        for function in 1..=4 {
            log.function(Action::Entry, function, 1);
        }
        log.function(Action::EntryArgs, 5, 1);
        for value in 0..20 {
            log.put(Record::CallArgument { value });
        }
    });
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut translator = Translator::with_limits(Map::default(), Limits { depth: 3, threads: 1 });
    let mut log = trace_xray::read::Reader::new(&bytes[..]);
    while let Some(item) = log.next().unwrap() {
        translator.item(&mut writer, &item).unwrap();
    }
    translator.finish(&mut writer).unwrap();
    let archive = writer.into_inner();
    let report = stats::collect(Reader::new(&archive[..]), Grouping::Together, None).unwrap();
    assert_eq!(report.oddities.begins_without_end, 3);
    assert_eq!(report.damage.records_dropped, 2);
}

#[test]
fn more_arguments_than_an_event_has_are_a_loss() {
    let bytes = log(V5, |log| {
        log.function(Action::EntryArgs, 1, 1);
        for value in 0..17 {
            log.put(Record::CallArgument { value });
        }
        log.function(Action::Exit, 1, 1);
    });
    let lines = lines(&bytes);
    assert!(lines[1].ends_with(" arg14=Uint64(14)"), "{lines:?}");
    let loss = "reason=more than 15 arguments of a call number=Uint64(2)";
    assert!(lines.last().unwrap().ends_with(loss), "{lines:?}");
}

#[test]
fn other_files_are_no_logs() {
    for bytes in
        [&b"\x10\x00\x04\x46\x78\x54\x16\x00"[..], b"{}", b"", &[0; 64], &[1; 64], b"\x01\0"]
    {
        assert!(!Fdr::default().detects(bytes), "{bytes:?}");
    }
    let function =
        FunctionRecord { action: Action::Entry, function: FunctionId::new(1).unwrap(), delta: 1 };
    let log = log(V5, |log| log.put(Record::Function(function)));
    assert!(!trace_analyze::input::Fxt.detects(&log));
}
