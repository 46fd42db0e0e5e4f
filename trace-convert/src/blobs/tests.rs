use trace_format::{encode, Argument, Arguments, EventKind, LargeBlobEvent, Thread, Value};

use super::*;
use crate::testing::{archive, event};

/// Returns the output as names, arguments and the payload's length and first bytes.
fn joined(records: &[Record<'_>]) -> Vec<String> {
    joined_of(&archive(records))
}

fn joined_of(archive: &[u8]) -> Vec<String> {
    let (mut blobs, mut found) = (Blobs::default(), Vec::new());
    let mut sink = |item: &Item<'_>| {
        if payload(&item.record).is_empty() && !matches!(item.record, Record::Blob(_)) {
            return;
        }
        let mut line = String::new();
        crate::text::line(&mut line, item).unwrap();
        let first = payload(&item.record).chunks(32_000).map(|part| part[0].to_string());
        let line = line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
        found.push(format!("{line}: {}", first.collect::<Vec<_>>().join(" ")));
    };
    let mut reader = Reader::new(archive);
    while let Some(item) = reader.next().unwrap() {
        blobs.push(&item, &mut sink).unwrap();
    }
    blobs.finish(&mut sink);
    found
}

fn blob<'a>(name: &'a str, payload: &'a [u8]) -> Record<'a> {
    Blob { name: name.into(), blob_type: BlobType::DATA, payload }.into()
}

/// Returns the names and lengths of the output.
fn lengths(records: &[Record<'_>]) -> Vec<String> {
    let words =
        |line: String| line.split(' ').skip(1).step_by(2).take(2).collect::<Vec<_>>().join(" ");
    joined(records).into_iter().filter(|line| line.starts_with("blob")).map(words).collect()
}

#[test]
fn consecutive_parts_are_joined() {
    let full = [1, 2, 3].map(|byte| vec![byte; MAX_BLOB_BYTES]);
    let records =
        [blob("b", &full[1]), blob("a", &full[0]), blob("a", &full[2]), blob("a", b"\x04")];
    let expected = ["blob \"b\" data 32000 bytes: 2", "blob \"a\" data 64001 bytes: 1 3 4"];
    assert_eq!(joined(&records), expected);
    assert_eq!(joined(&[blob("a", b"\x04"), blob("a", b"\x05")]).len(), 2);
    let more = [blob(carried::MORE, &full[0]), blob(carried::MORE, &full[0])];
    assert_eq!(joined(&more).len(), 2, "these are put together elsewhere");
}

#[test]
fn an_empty_part_ends_a_blob_of_full_parts() {
    let full = vec![1; MAX_BLOB_BYTES];
    let whole = [blob("a", &full), blob("a", &full), blob("a", b"")];
    let records = [&whole[..], &[blob("a", b"\x04")]].concat();
    assert_eq!(lengths(&records), [r#""a" 64000"#, r#""a" 1"#]);
}

#[test]
fn parts_around_another_record_stay_separate() {
    let full = vec![1; MAX_BLOB_BYTES];
    let event = event(EventKind::DurationBegin, Arguments::NONE);
    let records = [blob("a", &full), event, blob("a", b"\x04")];
    assert_eq!(lengths(&records), [r#""a" 32000"#, r#""a" 1"#]);
    let records = [blob("a", &full), blob("b", b"\x04"), blob("a", b"\x04")];
    assert_eq!(lengths(&records), [r#""a" 32000"#, r#""b" 1"#, r#""a" 1"#]);
}

#[test]
fn parts_of_two_threads_stay_separate() {
    let full = vec![1; MAX_BLOB_BYTES];
    let chunk = |thread| Record::Thread { index: 1, koids: ThreadKoids::new(1, thread) };
    let of = |second| {
        let mut words = Vec::new();
        for record in [chunk(2), blob("a", &full), chunk(second), blob("a", b"\x04")] {
            encode::append(&mut words, &record).unwrap();
        }
        joined_of(&[archive(&[]), encode::to_bytes(&words)].concat()).len()
    };
    assert_eq!(of(2), 1, "the next chunk of a thread");
    assert_eq!(of(3), 2);
}

#[test]
fn the_order_is_kept_beyond_the_limit() {
    let count = MAX_WAITING_BYTES / MAX_BLOB_BYTES + 100;
    let parts: Vec<Vec<u8>> =
        (0..count).map(|number| vec![(number % 251) as u8; MAX_BLOB_BYTES]).collect();
    let mut records: Vec<Record<'_>> = parts.iter().map(|part| blob("a", part)).collect();
    records.push(blob("a", b"\xff"));
    let first = |line: &String| line.rsplit(": ").next().unwrap().to_owned();
    let found: Vec<String> = joined(&records).iter().map(first).collect();
    let expected = (0..count).map(|number| (number % 251).to_string());
    let expected: Vec<String> = expected.chain(["255".to_owned()]).collect();
    assert_eq!(found.join(" "), expected.join(" "));
}

#[test]
fn the_memory_limit_includes_names() {
    let thread = Thread::Inline(ThreadKoids::new(1, 2));
    let arguments = [("part", 1), ("parts", 2)];
    let arguments = arguments.map(|(name, value)| Argument::new(name, Value::Uint32(value)));
    let name = "n".repeat(1_000);
    let part = |ticks| -> Record<'_> {
        let event = Some(LargeBlobEvent { ticks, thread, arguments: arguments[..].into() });
        LargeBlob { category: "c".into(), name: (&*name).into(), event, payload: b"" }.into()
    };
    let records: Vec<Record<'_>> = (0..2_000).map(part).collect();
    let (archive, mut blobs, mut passed) = (archive(&records), Blobs::default(), 0);
    let mut reader = Reader::new(&archive[..]);
    while let Some(item) = reader.next().unwrap() {
        blobs.push(&item, &mut |_| passed += 1).unwrap();
        assert!(blobs.bytes <= MAX_WAITING_BYTES);
    }
    let waiting: usize = blobs.waiting.iter().map(|(key, parts)| bytes_of(key, parts)).sum();
    assert_eq!(blobs.bytes, waiting);
    assert!(passed > 1_000, "{passed} of them wait no more");
}

#[test]
fn parts_with_equal_numbers_stay_separate() {
    let part = |payload| -> Record<'static> {
        LargeBlob { category: "c".into(), name: "n (1/2)".into(), event: None, payload }.into()
    };
    assert_eq!(joined(&[part(b"\x01"), part(b"\x02")]).len(), 2);
}

#[test]
fn parts_with_number_arguments_are_joined() {
    let arguments = |part| {
        [("part", part), ("parts", 3), ("own", 7)]
            .map(|(name, value)| Argument::new(name, Value::Uint32(value)))
    };
    let lists = [3, 1, 2].map(arguments);
    let event = |list: &'static [Argument<'static>]| LargeBlobEvent {
        ticks: 5,
        thread: Thread::Inline(ThreadKoids::new(1, 2)),
        arguments: list.into(),
    };
    let lists: Vec<&'static [Argument<'static>]> =
        lists.into_iter().map(|list| &Box::leak(Box::new(list))[..]).collect();
    let (category, name) = ("c".into(), "n".into());
    let part = |list, payload| -> Record<'static> {
        LargeBlob { category, name, event: Some(event(list)), payload }.into()
    };
    let records = [part(lists[0], b"\x03"), part(lists[1], b"\x01"), part(lists[2], b"\x02")];
    let place = r#"large-blob 1/2 0.000000005s "c" "n""#;
    assert_eq!(joined(&records), [format!(r#"{place} 3 bytes {{"own": 7}}: 1"#)]);
    let expected = format!(r#"{place} 1 bytes {{"part": 3, "parts": 3, "own": 7}}: 3"#);
    assert_eq!(joined(&records[..1]), [expected], "without the others it stays a part");
}

#[test]
fn parts_with_numbers_in_their_names_are_joined() {
    let part = |name: &'static str, payload| -> Record<'static> {
        LargeBlob { category: "c".into(), name: name.into(), event: None, payload }.into()
    };
    let records = [part("n (1/2)", b"\x01"), part("n", b"\x09"), part("n (2/2)", b"\x02")];
    let expected = [r#"large-blob "c" "n" 1 bytes: 9"#, r#"large-blob "c" "n" 2 bytes: 1"#];
    assert_eq!(joined(&records), expected);
}
