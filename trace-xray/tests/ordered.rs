//! Thread buffers in the order of time.

mod common;

use std::io::Cursor;

use common::{items, Made, OwnedItem};
use trace_xray::calls::{CallStacks, Step};
use trace_xray::layout::{Action, ByteOrder, Version};
use trace_xray::read::Ordered;
use trace_xray::{Format, Record};

fn read(log: &[u8]) -> (Vec<OwnedItem>, Vec<String>) {
    let mut reader = Ordered::new(Cursor::new(log)).unwrap();
    let mut found = (Vec::new(), Vec::new());
    loop {
        match reader.next() {
            Ok(Some(item)) => found.0.push(OwnedItem::from(item)),
            Ok(None) => return found,
            Err(error) => found.1.push(format!("{error:?}")),
        }
    }
}

fn formats() -> impl Iterator<Item = Format> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    let with = |order| Version::ALL.into_iter().map(move |version| Format { version, order });
    orders.into_iter().flat_map(with)
}

/// Returns a log of one thread buffer that starts at `tsc`.
fn one(format: Format, tsc: u64, thread: i32, action: Action) -> Made {
    let mut log = Made::new(format, 512);
    log.buffer(|log| {
        log.put(Record::NewBuffer { thread });
        let wall_clock = trace_xray::WallClock { seconds: 1, micros: 2 };
        log.put(Record::WallClock(wall_clock));
        log.put(Record::NewCpuId { cpu: 2, tsc });
        log.function(action, 1, 5);
        log.put(Record::NewCpuId { cpu: 3, tsc: tsc + 10 });
    });
    log
}

#[test]
fn thread_buffers_are_sorted() {
    for format in formats() {
        let mut log = Made::new(format, 512);
        let starts = [5000, 1000, 3000, 4000, 2000];
        let padded = |log: &mut Made| {
            if format.version == Version::V1 {
                log.bytes.resize((log.bytes.len() - 32).next_multiple_of(512) + 32, 0x5a);
            }
        };
        for tsc in starts {
            log.extend_buffers(&one(format, tsc, 8, Action::Entry));
            padded(&mut log);
        }
        let (found, errors) = read(&log.bytes);
        assert_eq!(errors, [""; 0], "{format:?}");
        let functions = found.iter().filter(|item| item.record.kind().is_none());
        let times: Vec<_> = functions.map(|item| item.tsc).collect();
        assert_eq!(times, [1005, 2005, 3005, 4005, 5005], "{format:?}");
        let (mut unsorted, _) = items(&log.bytes, 100);
        let mut sorted = found;
        unsorted.sort_by_key(|item| item.offset);
        sorted.sort_by_key(|item| item.offset);
        assert_eq!(sorted, unsorted, "the same records");
    }
}

#[test]
fn calls_across_thread_buffers() {
    let format = Format::little(Version::V5);
    let mut log = Made::new(format, 512);
    let parts =
        [(3000, Action::Exit), (2000, Action::Exit), (1000, Action::Entry), (500, Action::Entry)];
    for (tsc, action) in parts {
        log.extend_buffers(&one(format, tsc, 8, action));
    }
    let mut reader = Ordered::new(Cursor::new(&log.bytes[..])).unwrap();
    let mut stacks = CallStacks::default();
    let mut calls = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Some(Step::Left(ended)) = stacks.step(&item) {
            calls.extend(ended.map(|call| (call.entered, call.left, call.depth)));
        }
    }
    assert_eq!(calls, [(1005, 2005, 1), (505, 3005, 0)]);
}

#[test]
fn several_logs_in_one_file() {
    let mut all = Made::new(Format::little(Version::V5), 512);
    for (number, format) in formats().filter(|format| format.version.has_extents()).enumerate() {
        all.extend(&one(format, 9000 - 100 * number as u64, 8, Action::Entry));
    }
    let (found, errors) = read(&all.bytes);
    assert_eq!(errors, [""; 0]);
    let functions: Vec<_> = found.iter().filter(|item| item.record.kind().is_none()).collect();
    assert_eq!(functions.len(), 8);
    // Each log has a clock of its own.
    assert!(functions.is_sorted_by_key(|item| item.offset));
}

/// The same header may start several logs.
#[test]
fn logs_are_read_one_after_the_other() {
    let format = Format::little(Version::V5);
    let mut log = Made::new(format, 512);
    for starts in [[5000, 4000], [2000, 1000]] {
        let mut other = Made::new(format, 512);
        for tsc in starts {
            other.extend_buffers(&one(format, tsc, 8, Action::Entry));
        }
        log.extend(&other);
    }
    let mut reader = Ordered::new(Cursor::new(&log.bytes[..])).unwrap();
    let mut found = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if item.record.kind().is_none() {
            found.push((item.buffer.log, item.tsc()));
        }
    }
    // The first log has no thread buffers.
    assert_eq!(found, [(2, 4005), (2, 5005), (3, 1005), (3, 2005)]);
}

#[test]
fn padding_that_is_cut_off_is_reported() {
    let mut log = one(Format::little(Version::V1), 1000, 8, Action::Entry);
    log.raw(&[0; 20]);
    let (found, errors) = read(&log.bytes);
    assert_eq!((found.len(), errors.len()), (log.records.len(), 1));
    assert!(errors[0].starts_with("PaddingTruncated"), "{errors:?}");
}

#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let format = Format::little(Version::V5);
    let mut log = Made::new(format, 512);
    log.extend_buffers(&one(format, 3000, 8, Action::Entry));
    let middle = log.bytes.len();
    log.extend_buffers(&one(format, 2000, 8, Action::Entry));
    log.extend_buffers(&one(format, 1000, 8, Action::Entry));
    // The kind of the last record of the middle one, and a cut within the last one.
    log.bytes[middle + 72] = 0xff;
    log.bytes.truncate(log.bytes.len() - 10);
    let (found, errors) = read(&log.bytes);
    let times: Vec<_> =
        found.iter().filter(|item| item.record.kind().is_none()).map(|item| item.tsc).collect();
    assert_eq!(times, [1005, 2005, 3005]);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("Truncated") && errors[1].starts_with("Record"), "{errors:?}");
}

/// The second pass skips bytes between thread buffers, and thread buffers without a time.
#[test]
fn damage_outside_of_thread_buffers_is_reported() {
    for format in formats().filter(|format| format.version.has_extents()) {
        let mut log = Made::new(format, 512);
        log.extend_buffers(&one(format, 3000, 8, Action::Entry));
        log.raw(&[0x5a; 24]);
        log.extend_buffers(&one(format, 2000, 8, Action::Entry));
        log.buffer(|log| log.put(Record::NewBuffer { thread: 8 }));
        log.extend_buffers(&one(format, 1000, 8, Action::Entry));
        let (found, errors) = read(&log.bytes);
        let functions = found.iter().filter(|item| item.record.kind().is_none());
        assert_eq!(functions.count(), 3, "{format:?}");
        let kinds: Vec<_> = errors.iter().filter_map(|error| error.split(' ').next()).collect();
        assert_eq!(kinds, ["NotABuffer", "NoStart"], "{format:?}");
    }
}

/// Memory does not grow with the number of errors.
#[test]
fn many_errors_of_the_first_pass_are_counted() {
    let mut log = Made::new(Format::little(Version::V5), 512);
    for _ in 0..1500 {
        log.buffer(|log| log.put(Record::NewBuffer { thread: 8 }));
    }
    let (_, errors) = read(&log.bytes);
    assert_eq!(errors.len(), 1001);
    assert!(errors[999].starts_with("NoStart"), "{}", errors[999]);
    assert!(errors[1000].starts_with("More") && errors[1000].ends_with("number: 500 }"));
}

#[test]
fn logs_without_thread_buffers() {
    let log = common::header(Format::little(Version::V5), 512);
    assert_eq!(read(&log), (vec![], vec![]));
    assert!(Ordered::new(Cursor::new(&log[..20])).is_err());
}
