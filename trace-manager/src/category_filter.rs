//! Selects the records of a session for one of its sinks.
//!
//! Providers record the union of the sinks' categories. A category is compared with the sink's
//! patterns once, when its string is registered; for an event, one bit is looked up.

use std::collections::BTreeMap;

use trace_format::layout::{
    event, large, large_blob, record, string, LargeBlobFormat, RecordType, StringRef,
};
use trace_format::notes;
use trace_protocol::buffer::consumer::record_words;
use trace_protocol::categories::CategorySet;
use trace_protocol::words::as_bytes;

use crate::records::{Records, Spares, SECTION};

/// The filter of one sink.
#[derive(Debug, Clone)]
pub(crate) struct CategoryFilter {
    categories: CategorySet,
    spares: Spares,
    excluded: BTreeMap<u32, Excluded>,
}

/// A bit for each string index of a provider: set if the sink does not get that category.
type Excluded = Box<[u64; 512]>;

impl CategoryFilter {
    pub(crate) fn new(categories: &[String], spares: Spares) -> Self {
        Self { categories: CategorySet::new(categories), spares, excluded: BTreeMap::new() }
    }

    /// Returns the records without the events of other categories. If all stay, the words are
    /// shared.
    ///
    /// Strings, threads and objects stay, because later records may refer to them. Events of the
    /// category `trace` stay, because they report losses.
    pub(crate) fn select(&mut self, records: &Records) -> Records {
        let excluded = self.excluded.entry(records.provider).or_insert_with(|| Box::new([0; 512]));
        let selected = select(&self.categories, excluded, &records.words, &self.spares);
        if records.is_last {
            self.excluded.remove(&records.provider);
        }
        match selected {
            Some(words) => Records { words: self.spares.share(words), ..records.clone() },
            None => records.clone(),
        }
    }
}

/// Returns the words of the selected records; `None` if all are selected.
fn select(
    categories: &CategorySet,
    excluded: &mut Excluded,
    words: &[u64],
    spares: &Spares,
) -> Option<Vec<u64>> {
    let mut kept: Option<Vec<u64>> = None;
    let (mut at, mut run) = (SECTION, 0);
    while let Some(&header) = words.get(at) {
        let size = record_words(header).unwrap_or(usize::MAX).min(words.len() - at);
        let record = words.get(at..at + size).unwrap_or_default();
        if record::Type::get(header) == RecordType::String.bits() {
            register_string(categories, excluded, record);
        } else if is_excluded(categories, excluded, record) {
            let kept = kept.get_or_insert_with(|| spares.take());
            kept.extend_from_slice(words.get(run..at).unwrap_or_default());
            run = at + size;
        }
        at += size;
    }
    if let Some(kept) = &mut kept {
        kept.extend_from_slice(words.get(run..).unwrap_or_default());
    }
    kept
}

/// Returns whether a record is an event of a category that the sink does not get.
#[inline]
fn is_excluded(categories: &CategorySet, excluded: &Excluded, record: &[u64]) -> bool {
    let Some((category, text)) = category(record) else { return false };
    match category.inline_bytes() {
        None => category
            .index()
            .is_some_and(|index| excluded[usize::from(index) / 64 % 512] >> (index % 64) & 1 != 0),
        Some(length) => {
            let bytes = as_bytes(text).get(..length);
            !matches(categories, bytes.unwrap_or_default())
        }
    }
}

/// Returns a record's category, if it has one, and the words after the fixed part. An inline
/// category is at their start.
#[inline]
fn category(record: &[u64]) -> Option<(StringRef, &[u64])> {
    let [header, second, ..] = *record else { return None };
    let kind = record::Type::get(header);
    let (bits, at) = if kind == RecordType::Event.bits() {
        let thread = if event::ThreadRef::get(header) == 0 { 2 } else { 0 };
        (event::CategoryRef::get(header), 2 + thread)
    } else if kind == RecordType::Large.bits()
        && large::BlobFormat::get(header) == LargeBlobFormat::Event.bits()
    {
        (large_blob::CategoryRef::get(second), 2)
    } else {
        return None;
    };
    Some((StringRef::from_bits(bits as u16), record.get(at..).unwrap_or_default()))
}

fn register_string(categories: &CategorySet, excluded: &mut Excluded, record: &[u64]) {
    let [header, text @ ..] = record else { return };
    let index = string::Index::get(*header) as usize;
    let text = as_bytes(text).get(..string::Length::get(*header) as usize).unwrap_or_default();
    let bit = 1 << (index % 64);
    let word = &mut excluded[index / 64 % 512];
    *word = if matches(categories, text) { *word & !bit } else { *word | bit };
}

fn matches(categories: &CategorySet, category: &[u8]) -> bool {
    category == notes::CATEGORY.as_bytes()
        || std::str::from_utf8(category).is_ok_and(|category| categories.matches(category))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use trace_format::encode::append;
    use trace_format::record::{Arguments, Event, EventKind, Record, Text, Thread};
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
        Records { provider: 1, words, slots: Vec::new(), reported: 0, is_last: false }
    }

    fn filter(patterns: &[&str], spares: &Spares) -> CategoryFilter {
        let patterns: Vec<String> = patterns.iter().map(|text| text.to_string()).collect();
        CategoryFilter::new(&patterns, spares.clone())
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
}
