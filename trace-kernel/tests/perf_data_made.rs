//! Files of perf that the tests make: both byte orders, losses, and what cannot be read.
#![cfg(target_os = "linux")]

#[path = "common/perf_data.rs"]
mod made;

use std::io::Read;

use made::{File, SAMPLED, SAMPLE_ID_ALL};
use trace_analyze::input::InputFormat;
use trace_format::{Reader, Record, Value};
use trace_kernel::perf_data::PerfData;
use trace_kernel::ByteOrder;

const CYCLES: (u32, u64) = (0, 0);
const FAULTS: (u32, u64) = (1, 2);

fn archive(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
    let mut archive = Vec::new();
    let read = PerfData.open(Box::new(bytes)).and_then(|mut it| it.read_to_end(&mut archive));
    (archive, read.err().map(|error| error.to_string()))
}

/// Returns the records of an archive as text: those of samples, switches, modules, losses and logs.
fn lines(archive: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(archive);
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        lines.extend(match &item.record {
            Record::Backtrace(it) => {
                let frames: Vec<u64> = it.frames.iter().collect();
                Some(format!("{} {} {frames:x?}", it.ticks, item.thread(it.thread).thread))
            }
            Record::ContextSwitch(it) => Some(format!(
                "{} cpu {}: {} -> {}",
                it.ticks, it.cpu, it.outgoing_thread, it.incoming_thread
            )),
            Record::Module(it) => {
                Some(format!("{} {:x?}", String::from_utf8_lossy(it.name), it.build_id))
            }
            Record::Event(it) if item.text(it.name) == "records dropped" => {
                let number = |name: &str| {
                    let is_it =
                        |argument: &trace_format::Argument<'_>| item.text(argument.name) == name;
                    match it.arguments.iter().find(is_it).map(|argument| argument.value) {
                        Some(Value::Uint64(number)) => number.to_string(),
                        Some(Value::String(text)) => item.text(text).into_owned(),
                        other => panic!("{other:?}"),
                    }
                };
                let values = ["number", "reason", "from", "to"].map(number);
                Some(format!("dropped {}", values.join(" ")))
            }
            Record::Event(it) => Some(format!("{} {}", it.ticks, item.text(it.name))),
            Record::KernelObject(it) => Some(format!("thread {} {}", it.koid, item.text(it.name))),
            Record::Log(it) => Some(String::from_utf8_lossy(it.message).into_owned()),
            _ => None,
        });
    }
    lines
}

/// Returns a file with each kind of record.
fn recording(order: ByteOrder) -> File {
    let mut file = File::new(order);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL | 1 << 26, 70);
    file.event(FAULTS, SAMPLED, SAMPLE_ID_ALL, 71);
    let comm = [file.numbers(&[(4, 7), (4, 8)]), b"worker\0\0".to_vec()].concat();
    file.placed(3, 0, &comm, 0, (0, 0, 0));
    let map = file.numbers(&[(4, 8), (4, 8), (8, 0x1000), (8, 0x1000), (8, 0)]);
    let mut inode = file.numbers(&[(4, 0), (4, 0), (8, 0), (8, 0), (4, 5), (4, 2)]);
    inode.extend(b"/no/such/file\0\0\0");
    file.placed(10, 2, &[map, inode].concat(), 70, (7, 90, 0));
    // The second buffer is earlier.
    file.sample(70, (8, 200, 1), &[0xffff_ffff_ffff_fe00, 0x1010, 0x1020]);
    file.sample(71, (8, 150, 1), &[0x1030]);
    let other = file.numbers(&[(4, 7), (4, 9)]);
    file.placed(15, 1 << 13, &other, 70, (8, 100, 0));
    file.placed(15, 0, &other, 70, (9, 100, 0));
    file.record(68, 0, &[]);
    let mut id = file.numbers(&[(4, 67), (2, 2), (2, 8 + 4 + 24 + 16), (4, 7)]);
    id.extend([0xab; 20]);
    id.extend([0; 4]);
    id.extend(b"/no/such/file\0\0\0");
    file.describe(2, &id);
    file.describe_text(3, "host");
    file
}

#[test]
fn files_of_both_byte_orders_are_the_same() {
    let [little, big] = [ByteOrder::Little, ByteOrder::Big].map(|order| {
        let (archive, error) = archive(&recording(order).finish(true));
        assert_eq!(error, None);
        lines(&archive)
    });
    let expected = [
        "thread 8 worker",
        "perf unknown on host (kernel unknown): unknown",
        "times are nanoseconds of the clock of perf, the kernel's local_clock()",
        "stacks are samples of event 0:0x0; those of event 1:0x2 are instants without a stack",
        "100 cpu 0: 8 -> 9",
        "150 event 1:0x2",
        &format!("/no/such/file {:x?}", [0xab; 20]),
        "200 8 [1010, 1020]",
    ];
    assert_eq!(little, expected);
    assert_eq!(big, expected);
}

#[test]
fn each_cut_is_an_error() {
    let whole = recording(ByteOrder::Little).finish(true);
    for length in 0..whole.len() {
        assert!(archive(&whole[..length]).1.is_some(), "{length}");
    }
    assert_eq!(archive(&whole).1, None);
}

/// Maps code of a process at this time.
fn map(file: &mut File, time: u64, process: u64, start: u64, path: &[u8]) {
    let place = [(4, process), (4, process), (8, start), (8, 0x1000), (8, 0)];
    let body = [file.numbers(&place), path.to_vec()].concat();
    file.placed(1, 2, &body, 70, (process as u32, time, 0));
}

fn fork(file: &mut File, misc: u16, time: u64, (process, creator): (u64, u64)) {
    let ids = [process, creator, process, creator].map(|id| (4, id));
    let body = [file.numbers(&ids), file.number(8, time)].concat();
    file.placed(7, misc, &body, 70, (creator as u32, time, 0));
}

/// perf makes a record of a new process for each that existed at the start.
#[test]
fn only_new_processes_have_the_code_of_their_creators() {
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, 70);
    map(&mut file, 0, 7, 0x1000, b"/no/a\0\0\0");
    fork(&mut file, 1 << 13, 0, (8, 7));
    map(&mut file, 0, 8, 0x5000, b"/no/b\0\0\0");
    file.sample(70, (8, 100, 1), &[0x5010, 0x1010]);
    fork(&mut file, 0, 150, (9, 8));
    file.sample(70, (9, 200, 1), &[0x1010, 0x5010, 0x9010]);
    fork(&mut file, 0, 250, (10, 7));
    map(&mut file, 260, 7, 0x1000, b"/no/c\0\0\0");
    file.sample(70, (10, 300, 1), &[0x1010]);
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    let mut reader = Reader::new(&*archive);
    let mut modules = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Module(it) = &item.record {
            modules.push((item.process(it.process), it.name.to_vec()));
        }
    }
    let [a, b] = [b"/no/a", b"/no/b"].map(|path| path.to_vec());
    assert_eq!(modules, [(8, b.clone()), (9, b), (10, a)]);
}

/// Each process has the mappings of its creator, but only those of its samples are written.
#[test]
fn many_processes_with_many_mappings_are_a_small_archive() {
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, 70);
    let number = 2000;
    for index in 0..number {
        map(&mut file, 1, 7, 0x1000 * (index + 1), b"/a\0\0\0\0\0\0");
    }
    for time in 2..number {
        fork(&mut file, 0, time, (100 + time, 7));
        file.sample(70, (100 + time as u32, time, 1), &[0x1010]);
    }
    let bytes = file.finish(true);
    let (archive, error) = archive(&bytes);
    assert_eq!(error, None);
    assert!(archive.len() < 3 * bytes.len(), "{} of {}", archive.len(), bytes.len());
}

#[test]
fn what_is_missing_is_reported() {
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, 70);
    file.sample(70, (8, 100, 1), &[0x10]);
    let lost = file.numbers(&[(8, 70), (8, 5)]);
    file.placed(2, 0, &lost, 70, (8, 200, 1));
    let number = file.number(8, 3);
    file.placed(13, 0, &number, 70, (8, 300, 1));
    file.placed(5, 0, &[0; 24], 70, (8, 400, 1));
    file.placed(6, 0, &[0; 24], 70, (8, 500, 1));
    file.placed(5, 0, &[0; 24], 70, (8, 600, 1));
    // Samples that a filter dropped are no losses.
    file.placed(13, 1 << 15, &number, 70, (8, 650, 1));
    // The total, of which five were reported.
    let total = file.number(8, 7);
    file.placed(13, 0, &total, 70, (0, 0, 0));
    file.sample(70, (8, 700, 1), &[0x10]);
    file.sample(99, (8, 800, 1), &[0x10]);
    let aux = file.numbers(&[(8, 4), (8, 0), (8, 0), (8, 0), (8, 0)]);
    file.record(71, 0, &aux);
    file.records.extend(b"data");
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    let lines = lines(&archive);
    let found: Vec<&str> = lines.iter().map(String::as_str).collect();
    for expected in [
        "dropped 5 kernel buffer full 100 200",
        "dropped 3 samples lost by the CPU 200 300",
        "dropped 1 sampling throttled: at least one 400 500",
        "dropped 1 sampling throttled: at least one 600 800",
        "dropped 2 kernel buffer full 0 800",
    ] {
        assert!(found.contains(&expected), "{expected}: {found:#?}");
    }
    assert_eq!(found.iter().filter(|line| line.starts_with("dropped")).count(), 5);
    assert!(found.iter().any(|line| line.starts_with("4 bytes of AUX data")), "{found:#?}");
}

/// The only event is that of all samples, so its id is not looked at; of two events it is.
#[test]
fn samples_of_unknown_events_are_counted() {
    let mut file = recording(ByteOrder::Little);
    file.sample(99, (8, 800, 1), &[0x10]);
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    assert_eq!(lines(&archive).last().unwrap(), "samples of unknown events: 1");
}

#[test]
fn files_of_a_killed_perf_end_with_their_last_record() {
    let mut file = recording(ByteOrder::Little);
    let complete = lines(&archive(&file.finish(false)).0);
    file.records.extend([9, 0, 0, 0, 1]);
    let (archive, error) = archive(&file.finish(false));
    assert_eq!(error, None);
    let lines = lines(&archive);
    assert_eq!(lines, complete);
    assert!(lines.iter().any(|line| line.ends_with("[1010, 1020]")), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "perf was killed before it completed the file");
}

#[test]
fn a_late_record_does_not_end_reading() {
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, 70);
    for time in [10, 20, 30, 5] {
        file.sample(70, (8, time, 1), &[0x10]);
        file.record(68, 0, &[]);
    }
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    let lines = lines(&archive);
    assert_eq!(lines.iter().filter(|line| line.ends_with("[10]")).count(), 4);
    assert_eq!(lines.last().unwrap(), "records that are not in the order of time: 1");
}

#[test]
fn unsupported_files_are_errors() {
    let error = |bytes: &[u8]| archive(bytes).1.unwrap();
    assert!(error(b"PERFFILE").starts_with("unsupported version 1 of perf.data\nhint: "));
    assert_eq!(error(b"PERFILE"), "not a file of perf");
    let mut file = File::new(ByteOrder::Little);
    assert_eq!(error(&file.finish(true)), "the file has no events");
    assert_eq!(error(b"PERFILE2\x10\0\0\0\0\0\0\0"), "the file has no events");
    file.event(CYCLES, SAMPLED & !(1 << 16), 0, 70);
    file.event(CYCLES, SAMPLED & !(1 << 16 | 1), 0, 71);
    assert_eq!(error(&file.finish(true)), "records do not have the ids of their events");
    let mut file = recording(ByteOrder::Little);
    file.describe(24, &[]);
    assert!(error(&file.finish(true)).contains("hint: record without --threads"));
    let mut file = recording(ByteOrder::Little);
    file.record(9, 0, &[0; 8]);
    assert!(error(&file.finish(true)).starts_with("malformed record at byte "));
}

/// No memory is allocated by these sizes.
#[test]
fn sizes_of_hostile_files_are_limited() {
    let whole = recording(ByteOrder::Little).finish(true);
    for place in (16..104 + 16 + 2 * 112).step_by(8) {
        for size in [u64::MAX, u64::MAX / 2, 1 << 40, 1 << 31] {
            let mut bytes = whole.clone();
            bytes[place..place + 8].copy_from_slice(&size.to_le_bytes());
            archive(&bytes);
        }
    }
    let mut file = recording(ByteOrder::Little);
    file.record(71, 0, &u64::MAX.to_le_bytes());
    assert!(archive(&file.finish(true)).1.unwrap().starts_with("malformed record at byte "));
}

/// The kernel varies the period of an event with a frequency, but not that of its clocks.
#[test]
fn periods_are_weights_of_the_next_samples() {
    let weights = |event| {
        let mut file = File::new(ByteOrder::Little);
        file.event(event, SAMPLED | 1 << 8, SAMPLE_ID_ALL | 1 << 10, 70);
        for (time, period) in [(10, 1), (20, 700), (30, 5)] {
            file.sample_of(70, (8, time, 1), Some(period), &[0x10]);
        }
        let (archive, error) = archive(&file.finish(true));
        assert_eq!(error, None);
        let mut found = Vec::new();
        let mut reader = Reader::new(&*archive);
        while let Some(item) = reader.next().unwrap() {
            match &item.record {
                Record::Backtrace(it) => found.push((it.ticks, None)),
                Record::Event(it) if item.text(it.name) == "sample weight" => {
                    let value = it.arguments.iter().next().map(|argument| argument.value);
                    let Some(Value::Uint64(weight)) = value else { panic!("{value:?}") };
                    found.push((it.ticks, Some(weight)));
                }
                _ => {}
            }
        }
        found
    };
    let expected = [(10, None), (20, Some(700)), (20, None), (30, Some(5)), (30, None)];
    assert_eq!(weights(FAULTS), expected);
    assert_eq!(weights((1, 0)), [(10, None), (20, None), (30, None)]);
}

/// The addresses of guests are not those of processes.
#[test]
fn samples_of_guests_have_no_stack() {
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, 70);
    file.sample(70, (8, 10, 1), &[0x10]);
    for mode in [3, 4, 5] {
        let start = file.records.len();
        file.sample(70, (8, 20, 1), &[0x10]);
        file.records[start + 4] = mode;
    }
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    let lines = lines(&archive);
    assert_eq!(lines.iter().filter(|line| line.ends_with("[10]")).count(), 1);
    assert_eq!(lines.iter().filter(|line| *line == "20 event 0:0x0").count(), 3);
    let last = "samples of guests or the hypervisor, instants without a stack: 3";
    assert_eq!(lines.last().unwrap(), last);
}

/// A recording of a program has no CPUs, but each event is of one.
#[test]
fn losses_without_a_cpu_begin_with_the_last_record_of_their_event() {
    let fields = SAMPLED & !(1 << 7);
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, fields, SAMPLE_ID_ALL, 70);
    file.event(CYCLES, fields, SAMPLE_ID_ALL, 71);
    let sample = |file: &mut File, id: u64, time: u64| {
        let body = [(8, id), (8, 0x10), (4, 8), (4, 8), (8, time), (8, 1), (8, 0x10)];
        let body = file.numbers(&body);
        file.record(9, 1, &body);
    };
    let lost = |file: &mut File, id: u64, time: u64| {
        let body = [(8, id), (8, 5), (4, 8), (4, 8), (8, time), (8, id)];
        let body = file.numbers(&body);
        file.record(2, 0, &body);
    };
    sample(&mut file, 70, 100);
    sample(&mut file, 71, 200);
    lost(&mut file, 70, 300);
    lost(&mut file, 72, 400);
    lost(&mut file, 70, 500);
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    let lines = lines(&archive);
    let dropped: Vec<_> = lines.iter().filter(|line| line.starts_with("dropped")).collect();
    let expected = ["100 300", "100 400", "300 500"];
    assert_eq!(
        dropped,
        expected
            .map(|times| format!("dropped 5 kernel buffer full {times}"))
            .iter()
            .collect::<Vec<_>>()
    );
}

/// The process of a thread is known by its end.
#[test]
fn ends_of_threads_are_in_their_processes() {
    let mut file = File::new(ByteOrder::Little);
    file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, 70);
    let exit = file.numbers(&[(4, 7), (4, 1), (4, 9), (4, 1), (8, 50)]);
    file.placed(4, 0, &exit, 70, (0, 50, 1));
    let ended = u32::MAX;
    file.sample(70, (ended, 60, 1), &[0x10]);
    let (archive, error) = archive(&file.finish(true));
    assert_eq!(error, None);
    let mut reader = Reader::new(&*archive);
    let mut places = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let thread = match &item.record {
            Record::Event(it) if item.text(it.name) == "exit" => it.thread,
            Record::Backtrace(it) => it.thread,
            _ => continue,
        };
        let koids = item.thread(thread);
        places.push((koids.process, koids.thread));
    }
    assert_eq!(places, [(7, 9), (0, 0)]);
}

/// A pipe may have any number of events, ids and names.
#[test]
fn ids_and_names_in_a_pipe_are_limited() {
    let too_large = "too large: ids and names of events";
    let mut file = File::new(ByteOrder::Little);
    (0..4200).for_each(|id| file.event(CYCLES, SAMPLED, SAMPLE_ID_ALL, id));
    let rename = |file: &mut File, id: u64, name: u8| {
        let body = [file.numbers(&[(8, 2), (8, id)]), vec![name; 5000]].concat();
        file.record(78, 0, &body);
    };
    // The same event again needs no more.
    (0..4200).for_each(|number| rename(&mut file, number % 2, b'a'));
    assert_eq!(archive(&file.pipe()).1, None);
    (0..4200).for_each(|number| rename(&mut file, number, b'b'));
    assert_eq!(archive(&file.pipe()).1.as_deref(), Some(too_large));
    let mut file = File::new(ByteOrder::Little);
    let mut event = file.numbers(&[(4, 0), (4, 96), (8, 0), (8, 1), (8, SAMPLED)]);
    event.resize(96, 0);
    for number in 0..300_u64 {
        let ids = (0..8000).flat_map(|id| (number * 8000 + id).to_le_bytes());
        let body: Vec<u8> = event.iter().copied().chain(ids).collect();
        file.record(64, 0, &body);
    }
    assert_eq!(archive(&file.pipe()).1.as_deref(), Some(too_large));
}
