use std::time::{Duration, Instant};

use super::*;
use trace_format::encode::append;
use trace_format::record::{
    Arguments, Event, EventKind, LargeBlob, LargeBlobEvent, Log, Record, Text, Thread,
};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts, PAGE_SIZE};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::DurableWriter;

/// A block with a thread, two categories and events; each `nth` is of the second category.
fn block(spares: &Spares, events: usize, nth: usize) -> Records {
    let mut words = Records::begin(spares, 1);
    for (index, value) in [(1, "web"), (2, "db"), (3, "an event")] {
        append(&mut words, &Record::String { index, value: value.as_bytes() }).unwrap();
    }
    let koids = trace_format::ThreadKoids::new(1, 2);
    append(&mut words, &Record::Thread { index: 1, koids }).unwrap();
    for number in 0..events {
        let event = Event {
            ticks: number as u64,
            thread: Thread::Indexed(1),
            category: Text::Indexed(if number % nth == nth - 1 { 2 } else { 1 }),
            name: Text::Indexed(3),
            kind: EventKind::DurationComplete { end: 9 },
            arguments: Arguments::NONE,
        };
        append(&mut words, &Record::from(event)).unwrap();
    }
    let words = spares.share(words);
    Records { provider: 1, words, slots: Vec::new(), reported: 0, is_copy: true, is_last: false }
}

fn filter(patterns: &[&str], spares: &Spares) -> CategoryFilter {
    let patterns: Vec<String> = patterns.iter().map(|text| text.to_string()).collect();
    let mut filter = CategoryFilter::new(&patterns, spares.clone());
    filter.add(1, 0);
    filter
}

#[test]
fn records_are_not_copied_if_all_are_selected() {
    let spares = Spares::default();
    let records = block(&spares, 100, 2);
    let selected = filter(&["web", "db"], &spares).select(&records);
    assert!(std::ptr::eq(&*selected.words, &*records.words));
    let selected = filter(&["web"], &spares).select(&records);
    assert_eq!(records.words.len() - selected.words.len(), 50 * 3);
}

#[test]
fn a_string_index_can_be_registered_again() {
    let spares = Spares::default();
    let mut filter = filter(&["web"], &spares);
    let records = block(&spares, 10, 10);
    assert_eq!(records.words.len() - filter.select(&records).words.len(), 3);
    let mut words = records.words.to_vec();
    append(&mut words, &Record::String { index: 2, value: b"web" }).unwrap();
    let event = words[words.len() - 5..words.len() - 2].to_vec();
    words.extend(&event);
    let before = words.len();
    let records = Records { words: spares.share(words), ..records };
    assert_eq!(before - filter.select(&records).words.len(), 3);
}

/// Returns the words of a block with these records.
fn words(records: &[Record<'_>]) -> Vec<u64> {
    let mut words = Records::begin(&Spares::default(), 1);
    records.iter().for_each(|record| append(&mut words, record).unwrap());
    words
}

/// Selects the records for the patterns. Returns their words without the section record.
fn selected(patterns: &[&str], words: &[u64]) -> Vec<u64> {
    let spares = Spares::default();
    let words = spares.share(words.to_vec());
    let records = Records {
        provider: 1,
        words,
        slots: Vec::new(),
        reported: 0,
        is_copy: true,
        is_last: false,
    };
    filter(patterns, &spares).select(&records).words().to_vec()
}

/// Each record may have a category of its own, and each string another text.
#[test]
fn the_memory_of_counts_is_bounded() {
    let spares = Spares::default();
    let mut filter = filter(&["*"], &spares);
    let koids = trace_format::ThreadKoids::new(1, 2);
    let mut records = vec![Record::Thread { index: 1, koids }];
    let names: Vec<String> = (0..10_000).map(|number| format!("c{number}")).collect();
    for name in &names {
        records.push(event(Text::Inline(name.as_bytes()), Thread::Indexed(1)));
        records.push(Record::String { index: 1, value: name.as_bytes() });
        records.push(event(Text::Indexed(1), Thread::Indexed(1)));
    }
    let long = "x".repeat(30_000);
    records.push(Record::String { index: 2, value: long.as_bytes() });
    records.push(event(Text::Indexed(2), Thread::Indexed(1)));
    filter.select_words(1, &words(&records)[SECTION..]);
    let counts = filter.remove(1).unwrap();
    assert_eq!(counts.events, 20_001);
    assert!(counts.categories.len() < 5000, "{}", counts.categories.len());
    assert!(counts.categories.keys().all(|name| name.len() < 200));
}

fn event<'a>(category: Text<'a>, thread: Thread) -> Record<'a> {
    let (name, kind) = (Text::Indexed(3), EventKind::DurationComplete { end: 9 });
    Record::from(Event { ticks: 1, thread, category, name, kind, arguments: Arguments::NONE })
}

#[test]
fn inline_categories_are_compared() {
    let koids = trace_format::ThreadKoids::new(1, 2);
    for thread in [Thread::Indexed(1), Thread::Inline(koids)] {
        let (web, db) = (event("web".into(), thread), event("database".into(), thread));
        let all = words(&[web, db]);
        assert_eq!(selected(&["web"], &all), words(&[web])[1..]);
        assert_eq!(selected(&["data*"], &all), words(&[db])[1..]);
        assert_eq!(selected(&["datab"], &all), [0; 0], "the whole category is compared");
    }
}

#[test]
fn each_string_index_has_its_bit() {
    for index in [1, 63, 64, 65, 127, 511] {
        let neighbor = index + 1;
        let strings = [(index, "web"), (neighbor, "db")]
            .map(|(index, value)| Record::String { index, value: value.as_bytes() });
        let events = [index, neighbor].map(|it| event(Text::Indexed(it), Thread::Indexed(1)));
        let all = words(&[strings[0], strings[1], events[0], events[1]]);
        let expected = words(&[strings[0], strings[1], events[0]]);
        assert_eq!(selected(&["web"], &all), expected[1..], "{index}");
    }
}

#[test]
fn blobs_with_a_category_are_selected_as_events_are() {
    let blob = |category: &'static str| {
        Record::LargeBlob(LargeBlob {
            category: category.into(),
            name: "blob".into(),
            event: Some(LargeBlobEvent {
                ticks: 1,
                thread: Thread::Indexed(1),
                arguments: Arguments::NONE,
            }),
            payload: b"contents",
        })
    };
    let (web, db) = (blob("web"), blob("db"));
    assert_eq!(selected(&["web"], &words(&[web, db])), words(&[web])[1..]);
}

#[test]
fn reports_of_losses_are_never_excluded() {
    let report = event(notes::CATEGORY.into(), Thread::Indexed(1));
    let all = words(&[event("db".into(), Thread::Indexed(1)), report]);
    assert_eq!(selected(&["web"], &all), words(&[report])[1..]);
}

#[test]
fn the_records_that_pass_are_counted() {
    let spares = Spares::default();
    let mut filter = filter(&["web"], &spares);
    let records = block(&spares, 10, 5);
    filter.select(&records);
    assert_eq!(filter.events(1), Some(8));
    // The index of "web" has another text from now on.
    let string = Record::String { index: 1, value: b"web server" };
    let inline = event("web".into(), Thread::Indexed(1));
    let words = spares.share(words(&[string, inline]));
    filter.select(&Records { words, ..records.clone() });
    let counts = filter.remove(1).unwrap();
    // Four metadata records of the block, and the string.
    assert_eq!((counts.events, counts.records, counts.others), (9, 9 + 5, 0));
    assert_eq!(counts.categories, [("web".to_owned(), 9)].into());
    assert!(!filter.has(1) && filter.remove(1).is_none());
    assert!(std::ptr::eq(&*filter.select(&records).words, &*records.words), "no filter is left");
}

/// For a session that joined while the provider recorded.
#[test]
fn events_before_a_time_are_left_out() {
    let spares = Spares::default();
    let mut filter = CategoryFilter::new(&[], spares.clone());
    filter.add(1, 4);
    let records = block(&spares, 10, 2);
    assert_eq!(records.words.len() - filter.select(&records).words.len(), 4 * 3);
    assert_eq!(filter.events(1), Some(6));
}

#[test]
fn logs_before_a_time_are_left_out() {
    let spares = Spares::default();
    let log = |ticks| Record::Log(Log { ticks, thread: Thread::Indexed(1), message: b"line" });
    let mut filter = CategoryFilter::new(&[], spares.clone());
    filter.add(1, 4);
    let all = spares.share(words(&[log(3), log(4)]));
    let records = Records {
        provider: 1,
        words: all,
        slots: Vec::new(),
        reported: 0,
        is_copy: true,
        is_last: false,
    };
    assert_eq!(filter.select(&records).words(), &words(&[log(4)])[1..]);
    assert_eq!(filter.remove(1).unwrap().others, 1);
}

/// A session whose provider starts to record for others, too, needs the strings so far.
#[test]
fn a_late_filter_has_the_earlier_strings_and_counts() {
    let spares = Spares::default();
    let mut filter = CategoryFilter::new(&["web".to_owned()], spares.clone());
    let records = block(&spares, 4, 4);
    let strings: Vec<u64> = records.words()[..6].to_vec();
    let categories = [("web".to_owned(), 3)].into();
    filter.add_late(
        1,
        &["web".to_owned()],
        &strings,
        Counts { events: 3, records: 7, categories, ..Counts::default() },
    );
    let mut words = Records::begin(&spares, 1);
    words.extend(&records.words()[9..]);
    let later = Records { words: spares.share(words), ..records };
    assert_eq!(later.words.len() - filter.select(&later).words.len(), 3, "one event of \"db\"");
    let counts = filter.remove(1).unwrap();
    assert_eq!((counts.events, counts.records), (6, 10));
    assert_eq!(counts.categories, [("web".to_owned(), 6)].into());
}

/// Returns the time in which a collector copies and checks the records, which a second
/// session's buffer would cost.
fn time_collecting(records: &Records) -> Duration {
    let size = (records.words.len() * 8).next_multiple_of(PAGE_SIZE);
    let parts = Parts {
        losses_size: Layout::MIN_LOSSES_SIZE,
        durable_size: size,
        rolling_buffers: 1,
        rolling_size: 4 * PAGE_SIZE,
        unit_size: 256,
    };
    let layout = Layout::new(BufferingMode::Oneshot, parts).unwrap();
    let mapping = WriteMapping::anonymous(layout.total_size());
    DurableWriter::new(mapping.clone(), layout).append(records.words()).unwrap();
    let collector = Collector::new(mapping.reader(), layout, IdentityPolicy::Own(1)).unwrap();
    let mut words = Vec::with_capacity(records.words.len());
    let turn = |_| {
        let mut collector = collector.clone();
        words.clear();
        let start = Instant::now();
        collector.collect_durable(u64::MAX, &mut words);
        start.elapsed()
    };
    let best = (0..300).map(turn).min().unwrap_or_default();
    assert_eq!(words.len(), records.words().len());
    best
}

/// Measures the cost of splitting, for ARCHITECTURE.md. Run with `--release --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measure_splitting() {
    const EVENTS: usize = 40_000;
    let spares = Spares::default();
    let time = |mut act: Box<dyn FnMut() + '_>| {
        let turn = |act: &mut Box<dyn FnMut() + '_>| {
            let start = Instant::now();
            act();
            start.elapsed()
        };
        let best = (0..300).map(|_| turn(&mut act)).min().unwrap_or(Duration::ZERO);
        best.as_secs_f64() * 1e9 / EVENTS as f64
    };
    for nth in [2, 10] {
        let records = block(&spares, EVENTS, nth);
        let forward = time(Box::new(|| drop(std::hint::black_box(records.clone()))));
        let copy = time(Box::new(|| {
            let mut words = spares.take();
            words.extend_from_slice(&records.words);
            drop(std::hint::black_box(spares.share(words)));
        }));
        let split = |patterns: &[&str]| {
            let mut filter = filter(patterns, &spares);
            let records = &records;
            time(Box::new(move || drop(std::hint::black_box(filter.select(records)))))
        };
        println!(
            "one event in {nth} is of the second category; ns an event: forward {forward:.4}, \
             copy {copy:.2}, collect again {:.2}, split: all stay {:.2}, first {:.2}, \
             second {:.2}",
            time_collecting(&records).as_secs_f64() * 1e9 / EVENTS as f64,
            split(&["web", "db"]),
            split(&["web"]),
            split(&["db"]),
        );
    }
}

/// Events from before a change may be collected after it.
#[test]
fn a_change_selects_events_by_their_times() {
    let list = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect::<Vec<_>>();
    let spares = Spares::default();
    let records = block(&spares, 10, 2);
    let durable = records.words().to_vec();
    let count = |filter: &mut CategoryFilter, records: &Records| {
        let before = filter.events(1).unwrap();
        filter.select(records);
        filter.events(1).unwrap() - before
    };
    let mut filter = filter(&["web"], &spares);
    assert_eq!(count(&mut filter, &records), 5);
    filter.change(1, 4, &list(&["db"]), &durable);
    // Of the times 0 to 3 those of one category, from 4 on those of the other.
    assert_eq!(count(&mut filter, &records), 2 + 3);
    filter.change(1, 8, &list(&["web", "db"]), &durable);
    assert_eq!(count(&mut filter, &records), 8 + 2, "both were selected at some time");
    let counts = filter.remove(1).unwrap();
    let expected = [("db".to_owned(), 3 + 5), ("web".to_owned(), 5 + 2 + 5)];
    assert_eq!(counts.categories, expected.into());
}
