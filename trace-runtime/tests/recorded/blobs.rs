//! Bulk data, small and large.

use std::cell::Cell;

use trace_runtime::{trace_blob, trace_blob_attachment, trace_blob_event, BlobType};

use crate::archive::{find, lines, this_thread, Recorded, Recording};

/// Returns bytes that differ, so that a wrong order is found.
fn data(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index.wrapping_mul(31) >> 3) as u8).collect()
}

fn payload(records: &[&Recorded]) -> Vec<u8> {
    records.iter().flat_map(|record| record.payload.clone()).collect()
}

#[test]
fn small_data_are_one_record() {
    let recording = Recording::start();
    let (category, name) = (String::from("blob"), String::from("run time"));
    trace_blob!(BlobType::DATA, "small blob", [1u8, 2, 3]);
    trace_blob!(BlobType::PERFETTO, name, "bytes of a text");
    trace_blob!(BlobType::DATA, "empty blob", []);
    trace_blob_event!("blob", "small event", [4u8; 9], "a" => 1u32, "b" => "text");
    trace_blob_event!(category, name, Vec::new());
    trace_blob_attachment!("blob", "small attachment", b"attached");
    trace_blob_attachment!(category, name, [9u8; 16]);
    let records = recording.end();
    let ours = |record: &&Recorded| {
        record.text.starts_with("blob") || record.text.starts_with("attachment")
    };
    let found: Vec<(&str, &[u8])> = records
        .iter()
        .filter(ours)
        .map(|record| (record.text.as_str(), &*record.payload))
        .collect();
    assert_eq!(
        found,
        [
            ("blob 1 small blob", &[1, 2, 3][..]),
            ("blob 3 run time", b"bytes of a text"),
            ("blob 1 empty blob", &[]),
            ("blob event blob/small event a=1 b=text", &[4; 9]),
            ("blob event blob/run time", &[]),
            ("attachment blob/small attachment", b"attached"),
            ("attachment blob/run time", &[9; 16]),
        ]
    );
    assert_eq!(find(&records, "small event")[0].thread, this_thread());
    assert!(find(&records, "small event")[0].ticks > 0);
}

/// No record exceeds the limit of readers, and no byte is missing.
#[test]
fn large_data_are_complete() {
    const LENGTHS: [usize; 7] = [31_999, 32_000, 32_001, 32_720, 32_760, 64_000, 100_003];
    let long_text = "t".repeat(40_000);
    for length in LENGTHS {
        let recording = Recording::start();
        let data = data(length);
        trace_blob!(BlobType::DATA, "large", data);
        trace_blob_event!("blob", "event", &data, "a" => 1u32);
        trace_blob_event!("blob", "wordy", &data, "text" => long_text);
        trace_blob_attachment!("blob", "file", data.as_slice());
        trace_blob_attachment!("blob", format!("{}", "run time".repeat(300)), &data);
        let records = recording.end();
        let parts = find(&records, "blob 1 large");
        assert_eq!(payload(&parts), data);
        let is_full = |part: &Recorded| part.payload.len() == 32_000;
        assert_eq!(parts.iter().position(|part| !is_full(part)), Some(parts.len() - 1), "{length}");
        let mut events = find(&records, "blob/event");
        events.extend(find(&records, "blob/wordy"));
        for name in ["blob/event", "blob/wordy"] {
            let parts = find(&records, name);
            assert_eq!(payload(&parts), data, "{name} {length}");
            assert!(parts
                .iter()
                .all(|part| (part.ticks, part.thread) == (parts[0].ticks, this_thread())));
            for (index, part) in parts.iter().enumerate().filter(|_| parts.len() > 1) {
                assert!(
                    part.text.ends_with(&format!(" part={} parts={}", index + 1, parts.len())),
                    "{}",
                    part.text
                );
            }
        }
        let files = find(&records, "attachment blob/file");
        assert_eq!(payload(&files), data);
        for (index, part) in files.iter().enumerate().filter(|_| files.len() > 1) {
            assert_eq!(part.text, format!("attachment blob/file ({}/{})", index + 1, files.len()));
        }
        assert_eq!(payload(&find(&records, "attachment blob/run time")), data);
        assert!(records.iter().all(|record| record.payload.len() <= 32_760));
        assert_eq!(lines(&records, "records dropped"), Vec::<String>::new());
    }
}

/// The trace reports parts that were dropped because the buffer was full.
#[test]
fn dropped_parts_are_reported() {
    let recording = Recording::with(|builder| builder.oneshot().buffer_size(256 << 10));
    for _ in 0..10 {
        trace_blob_event!("blob", "too much", data(100_000));
    }
    let records = recording.end();
    let found = find(&records, "too much").len();
    let lost = find(&records, "trace/records dropped")
        .into_iter()
        .filter_map(|record| number(&record.text));
    assert!(found < 40);
    assert_eq!(lost.sum::<usize>(), 40 - found);
}

/// Returns the argument `number` of a record.
fn number(text: &str) -> Option<usize> {
    text.split(" number=").nth(1)?.split(' ').next()?.parse().ok()
}

#[test]
fn nothing_is_evaluated_while_off() {
    let recording = Recording::with(|builder| builder.categories(["on"]));
    let evaluated = Cell::new(0);
    let count = || {
        evaluated.set(evaluated.get() + 1);
        [1u8]
    };
    trace_blob_event!("off", "event", count(), "a" => count().len());
    trace_blob_event!(String::from("off"), "event", count());
    trace_blob_attachment!("off", "file", count());
    trace_blob_attachment!(String::from("off"), "file", count());
    trace_blob!(BlobType::DATA, "has no category", count());
    assert_eq!(evaluated.get(), 1);
    drop(recording);
    trace_blob!(BlobType::DATA, "not recorded", count());
    assert_eq!(evaluated.get(), 1);
}
