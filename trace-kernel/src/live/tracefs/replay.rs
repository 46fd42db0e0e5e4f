//! Pages of files instead of those of a kernel, against an import of the same events.
//!
//! `TRACE_KERNEL_REPLAY` is the number of events of each kind, for measurements:
//!
//! ```text
//! TRACE_KERNEL_REPLAY=100000 valgrind --tool=callgrind TEST-PROGRAM --exact live::tracefs::replay::system_calls
//! ```

use std::fs;
use std::path::Path;
use std::sync::Arc;

use trace_format::notes::Omission;
use trace_format::{Reader, Record, Text, Value, Writer};
use trace_protocol::mode::BufferingMode;
use trace_provider::Provider;

use super::super::scope::Limit;
use super::super::sink::Tables;
use super::super::source::{Destination, Source};
use super::*;
use crate::event::Event;
use crate::format::EventFormat;
use crate::fxt::{CallNames, Translator};
use crate::page::Missed;

const HEADER: &str = include_str!("../../../tests/captured/header_page");
const FORMATS: &str = include_str!("../../../tests/captured/formats");

/// The categories of all events of the formats, and one event with its fields.
const PATTERNS: [&str; 5] = [
    "kernel:sched",
    "kernel:tasks",
    "kernel:syscall",
    "kernel:irq",
    "kernel:event:sched/sched_stat_runtime",
];

/// Returns the names and formats of all events.
fn formats() -> Vec<(String, String)> {
    let parts = FORMATS.split("system: ").skip(1).map(|part| {
        let (system, text) = part.split_once('\n').unwrap();
        let format = EventFormat::parse(system, text).unwrap();
        (format!("{system}/{}", format.name), text.to_owned())
    });
    parts.collect()
}

/// Returns the decoder of the events that the patterns select.
fn decoding() -> Decoding {
    let (formats, patterns) = (formats(), PATTERNS.map(str::to_owned));
    let available: Vec<String> =
        formats.iter().map(|(name, _)| name.replacen('/', ":", 1)).collect();
    let selection = Selection::new(&patterns, &available.join("\n")).unwrap();
    let selected = selection.names();
    let formats: Vec<_> = formats.into_iter().filter(|(name, _)| selected.contains(name)).collect();
    selection.decoding(&formats).unwrap()
}

/// Records the pages of CPUs as those of an instance, without an error. Returns the archive.
fn recorded(cpus: &[Vec<u8>]) -> Vec<u8> {
    let (archive, error) = recorded_with_error(cpus);
    assert_eq!(error, None);
    archive
}

/// Records the pages of CPUs as those of an instance. Returns the archive and the first error.
fn recorded_with_error(cpus: &[Vec<u8>]) -> (Vec<u8>, Option<String>) {
    let directory = tempfile::tempdir().unwrap();
    let instance = directory.path().join("instance");
    for (cpu, pages) in cpus.iter().enumerate() {
        let cpu = instance.join(format!("per_cpu/cpu{cpu}"));
        fs::create_dir_all(&cpu).unwrap();
        fs::write(cpu.join("trace_pipe_raw"), pages).unwrap();
    }
    let archive = directory.path().join("t.fxt");
    let error = record(&instance, &archive);
    (fs::read(archive).unwrap(), error)
}

fn record(directory: &Path, archive: &Path) -> Option<String> {
    let instance = Instance::of_directory(directory);
    let pages = open_pages(&instance).unwrap();
    let tracefs = Tracefs::new(Owner::Own(instance), HEADER, pages, decoding()).unwrap();
    let (_, clock) = clock::choose("x86-tsc", ClockSource::CpuCounter);
    let mut source = Source::new(Box::new(tracefs), clock);
    let (tables, totals) = (Tables::new(&PATTERNS.map(str::to_owned)), Arc::default());
    let mut destination = Destination { tables, totals, is_reported: false };
    let provider = Provider::builder("kernel").about_machine().output(archive);
    let provider =
        provider.buffering_mode(BufferingMode::Oneshot).buffer_size(64 << 20).connect().unwrap();
    let mut writer = provider.writer();
    source.start(&Limit::None, &[(7, 5), (8, 5)], &writer).unwrap();
    while source.round(&mut destination, &mut writer) {}
    assert_eq!(source.stop(&mut destination, &mut writer), 0);
    let totals = super::super::totals::lock(&destination.totals);
    totals.error.clone()
}

/// Imports the events of the same pages. Returns the archive.
fn imported(cpus: &[Vec<u8>]) -> Vec<u8> {
    let layout = page_layout(HEADER, ByteOrder::NATIVE).unwrap();
    let (decoder, uses) = decoding();
    let mut events = Vec::new();
    for (cpu, pages) in (0..).zip(cpus) {
        for page in pages.chunks(layout.page_size) {
            let page = layout.parse(page).unwrap();
            let missed = std::iter::once(page.missed).chain(std::iter::repeat(Missed::None));
            let all = page.events().map(Result::unwrap).zip(missed);
            events.extend(all.map(|(event, missed)| (cpu, event, missed)));
        }
    }
    events.sort_by_key(|(_, event, _)| event.time);
    let mut archive = Writer::new(Vec::new()).unwrap();
    let mut translator = Translator::default();
    translator.name_calls(CallNames::of_this_machine());
    translator.process(7, 5);
    translator.process(8, 5);
    for (cpu, raw, missed) in &events {
        translator.missed(&mut archive, *cpu, *missed, (0, raw.time)).unwrap();
        let Some(uses) = uses.get(raw.id) else { continue };
        let entry = decoder.decode(*cpu, raw);
        if !uses.is_decoded || !matches!(entry.event, Event::Other { .. }) {
            translator.entry(&mut archive, &entry).unwrap();
        }
    }
    translator.finish(&mut archive).unwrap();
    archive.into_inner()
}

/// Returns the events and scheduling records of an archive, with their texts and threads.
fn lines(archive: &[u8]) -> Vec<String> {
    let (mut reader, mut lines) = (Reader::new(archive), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        let line = match &item.record {
            Record::Event(event) => format!(
                "{} {:?} {} {} {:?}",
                event.ticks,
                item.thread(event.thread),
                item.text(event.category),
                item.text(event.name),
                event.kind
            ),
            Record::ContextSwitch(switch) => format!(
                "{} cpu {} {} {:?} {}",
                switch.ticks,
                switch.cpu,
                switch.outgoing_thread,
                switch.outgoing_state,
                switch.incoming_thread
            ),
            Record::ThreadWakeup(it) => format!("{} cpu {} wakes {}", it.ticks, it.cpu, it.thread),
            _ => continue,
        };
        let text = |text: Text<'_>| item.text(text).into_owned();
        let arguments = item.record.arguments();
        let arguments = arguments.iter().map(|argument| match argument.value {
            Value::String(value) => format!(" {}={:?}", text(argument.name), text(value)),
            value => format!(" {}={value:?}", text(argument.name)),
        });
        lines.push(line + &arguments.collect::<String>());
    }
    lines
}

/// Compares the recording with the import, except for the reports of the provider and of missing
/// events. Returns the number of records.
fn compare(cpus: &[Vec<u8>]) -> usize {
    let own = |line: &String| !line.contains("} trace ");
    let records = |archive: &[u8]| lines(archive).into_iter().filter(own).collect::<Vec<_>>();
    let (recorded, imported) = (records(&recorded(cpus)), records(&imported(cpus)));
    for (recorded, imported) in recorded.iter().zip(&imported) {
        assert_eq!(recorded, imported);
    }
    assert_eq!(recorded.len(), imported.len());
    recorded.len()
}

/// Returns the number of events of a test.
fn number() -> u64 {
    std::env::var("TRACE_KERNEL_REPLAY").map_or(2_000, |number| number.parse().unwrap())
}

/// Returns pages with events, each with its time and its payload.
fn pages(events: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Vec<u8> {
    const PAGE: usize = 4096;
    let (mut pages, mut page, mut last): (_, Vec<u8>, _) = (Vec::new(), Vec::new(), 0);
    let mut end = |page: &mut Vec<u8>| {
        let length = (page.len().saturating_sub(16) as u64).to_ne_bytes();
        if let Some(place) = page.get_mut(8..16) {
            place.copy_from_slice(&length);
            page.resize(PAGE, 0);
            pages.append(page);
        }
    };
    for (time, payload) in events {
        if page.len() + 4 + payload.len() > PAGE {
            end(&mut page);
        }
        if page.is_empty() {
            page.extend(time.to_ne_bytes());
            page.extend([0; 8]);
            last = time;
        }
        let (words, delta) = (payload.len().div_ceil(4), (time - last) as u32);
        let header = if cfg!(target_endian = "big") {
            (words as u32) << 27 | delta
        } else {
            words as u32 | delta << 5
        };
        page.extend(header.to_ne_bytes());
        page.extend(&payload);
        page.resize(page.len().next_multiple_of(4), 0);
        last = time;
    }
    end(&mut page);
    pages
}

/// Returns the id of an event's format.
fn id(name: &str) -> u16 {
    let (_, text) = formats().into_iter().find(|(event, _)| event == name).unwrap();
    EventFormat::parse("", &text).unwrap().id
}

/// Returns a payload of a thread with these fields behind the common ones.
fn payload(id: u16, thread: u32, fields: &[&[u8]]) -> Vec<u8> {
    let id = id.to_ne_bytes();
    [&id[..], &[0, 0], &thread.to_ne_bytes(), &fields.concat()].concat()
}

fn name(name: &str) -> [u8; 16] {
    std::array::from_fn(|index| name.as_bytes().get(index).copied().unwrap_or(0))
}

/// Each CPU has a thread with system calls.
#[test]
fn system_calls() {
    let (enter, exit) = (id("raw_syscalls/sys_enter"), id("raw_syscalls/sys_exit"));
    let cpu = |cpu: u64| {
        let thread = 7 + cpu as u32;
        pages((0..number() / 2).flat_map(|call| {
            let (time, number) = (1_000 + call * 1_000 + cpu * 300, (110 + call % 7).to_ne_bytes());
            let arguments = [1, 2, call, cpu, u64::MAX, 6].map(u64::to_ne_bytes);
            let begin = payload(enter, thread, &[&number, arguments.as_flattened()]);
            let end = payload(exit, thread, &[&number, &call.to_ne_bytes()]);
            [(time, begin), (time + 500, end)]
        }))
    };
    let records = compare(&[cpu(0), cpu(1)]);
    assert_eq!(records as u64, number() / 2 * 2);
}

/// Each CPU has two threads that wake up each other.
#[test]
fn switches() {
    let (switch, waking) = (id("sched/sched_switch"), id("sched/sched_waking"));
    let cpu = |cpu: u64| {
        let threads = [20 + 2 * cpu as u32, 21 + 2 * cpu as u32];
        let names = [name("ping"), name("pong")];
        let priority = 120_i32.to_ne_bytes();
        pages((0..number() / 2).flat_map(|round| {
            let (own, other) = (round as usize % 2, 1 - round as usize % 2);
            let ids = threads.map(u32::to_ne_bytes);
            let time = 1_000 + round * 1_000 + cpu * 300;
            let target = (cpu as u32).to_ne_bytes();
            let wakes = [&names[other][..], &ids[other], &priority, &target];
            let state = 1_u64.to_ne_bytes();
            let switches = [
                &names[own][..],
                &ids[own],
                &priority,
                &state,
                &names[other],
                &ids[other],
                &priority,
            ];
            let thread = threads[own];
            [
                (time, payload(waking, thread, &wakes)),
                (time + 500, payload(switch, thread, &switches)),
            ]
        }))
    };
    let records = compare(&[cpu(0), cpu(1)]);
    assert_eq!(records as u64, number() / 2 * 4);
}

/// The archive has the first error of its sources.
#[test]
fn a_malformed_page_is_reported() {
    let enter = id("raw_syscalls/sys_enter");
    let call = [39_u64.to_ne_bytes().as_slice(), &[0; 48]].concat();
    let event = |time| (time, payload(enter, 7, &[&call]));
    let mut page = pages([event(1_000), event(2_000)]);
    assert_eq!(omitted(&recorded(&[page.clone()])), (0, Vec::new()));
    // The second event goes beyond the end of the page.
    let (first, second) = (16 + 4 + 64, &mut page);
    second[first..first + 4].copy_from_slice(&0_u32.to_ne_bytes());
    second[first + 4..first + 8].copy_from_slice(&5_000_u32.to_ne_bytes());
    let (archive, error) = recorded_with_error(&[page]);
    let error = error.expect("the page is malformed");
    assert!(error.starts_with("CPU 0: the event at 84 needs"), "{error}");
    let message = format!("events of the kernel are missing: {error}");
    assert_eq!(omitted(&archive), (1, vec![message]));
}

/// Returns the number of sources that failed, and the messages of an archive.
fn omitted(archive: &[u8]) -> (u64, Vec<String>) {
    let (mut reader, mut number, mut messages) = (Reader::new(archive), 0, Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Event(event) if item.text(event.name) == Omission::Sources.event() => {
                let Some(Value::Uint64(failed)) = event.arguments.iter().next().map(|it| it.value)
                else {
                    panic!("{event:?}")
                };
                number += failed;
            }
            Record::Log(log) => messages.push(String::from_utf8_lossy(log.message).into_owned()),
            _ => {}
        }
    }
    (number, messages)
}

/// All events of a kernel's pages.
#[test]
fn captured_pages() {
    let cpus = [
        &include_bytes!("../../../tests/captured/cpu0.pages")[..],
        include_bytes!("../../../tests/captured/cpu1.pages"),
    ];
    let records = compare(&cpus.map(<[u8]>::to_vec));
    assert!(records > 300, "{records}");
}
