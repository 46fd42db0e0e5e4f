//! What a collector counts of the records that it passes on.

use trace_protocol::buffer::header::BufferingMode;

use crate::harness::{string_record, Harness};
use crate::hostile::chunk;

/// A thread record for index 1.
const THREAD: [u64; 3] = [0x1_0033, 1, 5];

/// The header of an event of thread 1, of so many words.
fn event(kind: u64, words: u64, category: u64) -> u64 {
    4 | words << 4 | kind << 16 | 1 << 24 | category << 32 | 7 << 48
}

const BEGIN: u64 = 2;
const END: u64 = 3;

fn by_category(content: &[&[u64]]) -> Vec<(String, u64)> {
    let (_, collector) = chunk(&content.concat());
    assert_eq!(collector.stats().rejections(), 0, "{:?}", collector.stats());
    collector.events_by_category().map(|(name, count)| (name.to_owned(), count)).collect()
}

fn counts(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn events_are_counted_by_kind_and_by_category() {
    let strings = [string_record(7, "net"), string_record(8, "disk")].concat();
    let (begin, end) = ([event(BEGIN, 2, 7), 10], [event(END, 2, 7), 20]);
    let other = [event(BEGIN, 2, 8), 30];
    let content = [&THREAD[..], &strings, &begin, &end, &end, &begin, &begin, &other].concat();
    let (_, collector) = chunk(&content);
    let stats = collector.stats();
    assert_eq!((stats.events, stats.begins, stats.ends), (6, 4, 2));
    assert_eq!(stats.open_scopes(), 2);
    assert_eq!(stats.records, 9, "with a thread and two strings");
    assert_eq!(by_category(&[&content]), counts(&[("net", 5), ("disk", 1)]));
}

#[test]
fn an_index_that_gets_another_string_counts_for_both() {
    let event = [event(END, 2, 7), 10];
    let (old, new) = (string_record(7, "old"), string_record(7, "new"));
    let content = [&THREAD[..], &old, &event, &event, &new, &event];
    assert_eq!(by_category(&content), counts(&[("new", 1), ("old", 2)]));
    let content = [&THREAD[..], &old, &event, &old, &event];
    assert_eq!(by_category(&content), counts(&[("old", 2)]), "the same string again");
}

#[test]
fn a_category_in_the_record_is_counted() {
    let name = string_record(7, "name");
    let text = u64::from_le_bytes(*b"inline\0\0");
    let of_thread = [event(END, 3, 0x8006), 10, text];
    let mut inline_thread = vec![event(END, 5, 0x8006) & !(0xff << 24), 10, 1, 5];
    inline_thread.push(text);
    let content = [&THREAD[..], &name, &of_thread, &inline_thread];
    assert_eq!(by_category(&content), counts(&[("inline", 2)]));
}

#[test]
fn categories_of_many_names_and_long_names_are_not_remembered() {
    let name = string_record(7, "name");
    let long = "x".repeat(101);
    let text = string_record(1, &long).split_off(1);
    let record = [&[event(END, 2 + text.len() as u64, 0x8065), 10][..], &text].concat();
    assert_eq!(by_category(&[&THREAD, &name, &record]), []);
    let text = string_record(1, &long[1..]).split_off(1);
    let record = [&[event(END, 2 + text.len() as u64, 0x8064), 10][..], &text].concat();
    assert_eq!(by_category(&[&THREAD, &name, &record]), counts(&[(&long[1..], 1)]));
}

/// What is written by hand has a time that counts for the end of the trace.
#[test]
fn the_last_time_is_the_highest_of_the_events_that_differ() {
    let name = string_record(7, "name");
    let content = [&THREAD[..], &name, &[event(END, 2, 7), 50], &[event(BEGIN, 2, 7), 40]].concat();
    let (_, collector) = chunk(&content);
    assert_eq!(collector.stats().last_ticks, 50);
}

#[test]
fn a_claimed_rate_is_kept_apart() {
    let (out, collector) = chunk(&[0x21, 24_000_000]);
    assert_eq!(out, []);
    assert_eq!(collector.stats().ticks_per_second, Some(24_000_000));
    assert_eq!((collector.stats().records, collector.stats().rejections()), (0, 0));
}

/// A thread object that has no room for one more argument cannot say of which process it is.
#[test]
fn a_thread_object_gets_its_process_while_there_is_room() {
    // Fifteen arguments without a value, of one word each.
    let object = |count: u64| {
        let mut record = vec![7 | (2 + count) << 4 | 2 << 16 | 7 << 24 | count << 40, 70];
        record.extend((0..count).map(|_| 1 << 4 | 7 << 16));
        record
    };
    let name = string_record(7, "name");
    let (out, collector) = chunk(&[&name[..], &object(14)].concat());
    assert_eq!(collector.stats().rejections(), 0);
    assert_eq!(collector.stats().records, 2);
    let added = [8 | 3 << 4 | 0x8007 << 16, u64::from_le_bytes(*b"process\0"), 1];
    let mut with_process = object(14);
    with_process[0] += (3 << 4) + (1 << 40);
    assert_eq!(out, [&name[..], &with_process, &added].concat());
    let (out, collector) = chunk(&[&name[..], &object(15)].concat());
    assert_eq!((out, collector.stats().rejected[7]), (name, 1));
}

/// Several koid arguments, behind a name in the record.
#[test]
fn every_koid_of_a_thread_object_becomes_the_process() {
    let process = 8 | 3 << 4 | 0x8007 << 16;
    let key = u64::from_le_bytes(*b"process\0");
    let null = 1 << 4 | 7 << 16;
    let number = 4 | 2 << 4 | 7 << 16;
    let koid = 8 | 2 << 4 | 7 << 16;
    let named = |of: u64, other: u64| {
        let name = u64::from_le_bytes(*b"worker\0\0");
        let arguments = [null, number, 4242, process, key, of, koid, other];
        let header = 7 | 11 << 4 | 2 << 16 | 0x8006 << 24 | 4 << 40;
        [&[header, 70, name][..], &arguments].concat()
    };
    let strings = string_record(7, "name");
    let (out, collector) = chunk(&[&strings[..], &named(9999, 8888)].concat());
    assert_eq!(collector.stats().rejections(), 0, "{:?}", collector.stats());
    assert_eq!(out, [&strings[..], &named(1, 1)].concat());
}

/// Records about other processes say the provider's process instead.
#[test]
fn the_process_in_a_record_is_the_kernels() {
    let string = string_record(7, "name");
    // A large blob with an event: header, refs, category in the record, time, process, thread.
    let category = u64::from_le_bytes(*b"category");
    let large = |process| {
        let header = 0xf | 8 << 4;
        let refs = 0x8008 | 7 << 16;
        [header, refs, category, 10, process, 5, 1, u64::from(b'x')]
    };
    // A userspace object: header, pointer, process.
    let object = |process| [6 | 3 << 4 | 7 << 24, 0x1000, process];
    // A module: header, time, process, name.
    let module = |process| [10 | 4 << 4 | 1 << 44, 10, process, u64::from(b'x')];
    // An event: header, time, process, thread.
    let event = |process| [event(END, 4, 7) & !(0xff << 24), 10, process, 5];
    let content = |process| {
        let large = large(process);
        [&string[..], &large, &object(process), &module(process), &event(process)].concat()
    };
    let (out, collector) = chunk(&content(4242));
    assert_eq!(collector.stats().rejections(), 0, "{:?}", collector.stats());
    assert_eq!(out, content(1));
}

#[test]
fn a_restarted_collector_reads_the_durable_buffer_again() {
    let mut harness = Harness::new(BufferingMode::Streaming, 64 << 10);
    let end = harness.durable.end();
    let (mut first, mut nothing, mut again) = (Vec::new(), Vec::new(), Vec::new());
    harness.collector.collect_durable(end, &mut first);
    harness.collector.collect_durable(end, &mut nothing);
    harness.collector.restart();
    harness.collector.collect_durable(end, &mut again);
    assert!(!first.is_empty());
    assert_eq!((nothing, again), (Vec::new(), first));
}
