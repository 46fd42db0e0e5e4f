//! The collector against a buffer of any content, in each mode and on each way of reading it.

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use trace_protocol::buffer::consumer::{most_words, Collector, IdentityPolicy};
use trace_protocol::buffer::header::{
    directory_entry, field, loss_entry, BufferingMode, Layout, Parts,
};
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::words::as_bytes;

use crate::choices::{Choices, PROCESS};
use crate::collector::{readable, tables};
use crate::provider::opening;

/// Bytes of a rolling buffer.
const ROLLING: usize = Layout::MIN_ROLLING_SIZE;
/// The most bytes of a buffer: header, loss table, durable buffer, two rolling buffers.
const SIZE: usize = 5 * 4096;
/// Words of a unit.
const UNIT: usize = Layout::MIN_UNIT_SIZE / 8;
/// The wrapped counts that choices are made of.
const WRAPS: [u32; 8] = [0, 1, 2, 3, 7, u32::MAX - 1, u32::MAX, 1 << 24];
/// The fields of the header that the provider changes.
const FIELDS: [usize; 6] = [
    field::VERSION_MODE_WRAPPED,
    field::DURABLE_END,
    field::SAVED,
    field::STOPPED_AT,
    field::ROLLING_END,
    field::ROLLING_END + 1,
];

/// Collects what a provider left in the buffer, as the manager does: saves of rolling buffers, a
/// copy while the provider runs, the rest at its end. The first byte selects the mode, and whether
/// function records are permitted; the others the content and what is saved.
pub fn memory(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return };
    let layout = layout(form % 3).with_function_records(form / 3 % 2 == 1);
    let mut choices = Choices::at_one_time(rest);
    let saved: Vec<u32> = (0..choices.below(3)).map(|_| choices.of(&WRAPS)).collect();
    let content = content(&layout, &mut choices);
    let collector = MEMORY.with_borrow_mut(|memory| memory.collector(layout, &content));
    collect(collector, layout, &saved);
}

fn layout(mode: u8) -> Layout {
    let mode = BufferingMode::from_u8(mode).expect("one of three modes");
    let rolling_buffers = if mode == BufferingMode::Oneshot { 1 } else { 2 };
    let parts = Parts {
        losses_size: Layout::MIN_LOSSES_SIZE,
        durable_size: 4096,
        rolling_buffers,
        rolling_size: ROLLING,
        unit_size: UNIT * 8,
    };
    Layout::new(mode, parts).expect("a layout as any other")
}

fn collect(mut collector: Collector, layout: Layout, saved: &[u32]) {
    let mut records = Vec::new();
    collector.collect_durable(collector.durable_end(), &mut records);
    for wrap in saved {
        let save = collector.copy_rolling(*wrap);
        assert!(save.size() <= ROLLING);
        collector.sanitize(save, &mut records);
    }
    let (mut copied, mut copy) = (records.clone(), collector.clone());
    let live = collector.copy_live();
    copy.finish_copy(live, &mut copied);
    collector.finish(&mut records);
    let words = (layout.total_size() + saved.len() * ROLLING) / 8;
    let limit = if layout.has_function_records() { most_words(words) } else { words };
    for (collector, records) in [(&copy, &copied), (&collector, &records)] {
        assert!(records.len() <= limit, "{} words of a smaller buffer", records.len());
        assert!(collector.unreported().len() <= Layout::MIN_LOSSES_SIZE / 8 / loss_entry::WORDS);
        let _read = (collector.dropped(), collector.dropped_by_reason(), collector.stopped_at());
    }
    readable(as_bytes(&[opening(), records.as_slice()].concat()));
    // Most often they are the same.
    if copied != records {
        readable(as_bytes(&[opening(), copied.as_slice()].concat()));
    }
}

/// Returns the words of a buffer with the strings and threads of [`tables`], and with chosen chunks
/// and numbers.
fn content(layout: &Layout, choices: &mut Choices<'_>) -> Vec<u64> {
    let mut durable = Vec::new();
    tables(&mut durable);
    let mut words = vec![0; SIZE / 8];
    put_words(&mut words, layout.durable_offset() / 8, &durable);
    put_words(&mut words, field::DURABLE_END, &[durable.len() as u64 * 8]);
    while !choices.is_empty() {
        match choices.below(8) {
            0 => {
                let place = usize::from(choices.byte()) << 8 | usize::from(choices.byte());
                put_words(&mut words, place, &[choices.word()]);
            }
            1 => {
                let (place, number) = (choices.of(&FIELDS), choices.number());
                put_words(&mut words, place, &[number]);
            }
            2 => {
                let entry = usize::from(choices.byte()) * loss_entry::WORDS;
                let place = entry + usize::from(choices.below(loss_entry::WORDS as u8));
                put_words(&mut words, layout.losses_offset() / 8 + place, &[choices.number()]);
            }
            _ => put_chunk(&mut words, layout, choices),
        }
    }
    words
}

/// Puts a chunk of some units with some records into a rolling buffer.
fn put_chunk(words: &mut [u64], layout: &Layout, choices: &mut Choices<'_>) {
    let (wrap, unit) = (choices.of(&WRAPS), usize::from(choices.below(16)));
    let rolling = layout.rolling_offset(wrap) / 8;
    let units = u32::from(choices.below(20));
    put_words(words, rolling + unit, &[directory_entry(wrap, units)]);
    let mut records = Vec::new();
    for _ in 0..choices.below(6) {
        let start = records.len();
        match layout.has_function_records() && choices.below(3) != 0 {
            true => choices.function_record(&mut records),
            false => choices.record(&mut records),
        }
        if choices.below(4) == 0 {
            choices.damage(&mut records, start);
        }
    }
    put_words(words, rolling + (1 + unit) * UNIT, &records);
}

impl Choices<'_> {
    /// Appends a call or a base, with strings of [`tables`] or none of them.
    fn function_record(&mut self, records: &mut Vec<u64>) {
        match self.below(4) {
            0 => records.push(self.word() & !0xf | 13),
            kind => {
                let names = u64::from(self.below(6)) << 4 | u64::from(self.below(6)) << 19;
                let end = if kind == 1 { 0 } else { self.word() };
                records.extend([1 << 63 | u64::from(self.byte()) << 34 | names | 12, end]);
            }
        }
    }

    /// Returns a small number, a wrapped count in its place, or any number.
    fn number(&mut self) -> u64 {
        match self.below(3) {
            0 => u64::from(self.byte()) * 8,
            1 => u64::from(self.of(&WRAPS)) << 32,
            _ => self.word(),
        }
    }
}

/// Stores words in a buffer as far as it goes.
fn put_words(words: &mut [u64], place: usize, new: &[u64]) {
    for (word, new) in words.iter_mut().skip(place).zip(new) {
        *word = *new;
    }
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::new(Memory::new());
}

/// The memory of a provider's buffer, used again by each input.
struct Memory {
    file: File,
    mapping: ReadMapping,
    /// The number of words that are not zero, at most.
    used: usize,
}

impl Memory {
    fn new() -> Self {
        let file = tempfile::tempfile_in("/dev/shm").expect("a file in memory");
        file.set_len(SIZE as u64).expect("memory for it");
        let mapping = ReadMapping::map(file.as_fd(), SIZE).expect("it can be mapped");
        Self { file, mapping, used: 0 }
    }

    fn collector(&mut self, layout: Layout, words: &[u64]) -> Collector {
        let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        let changed = words.get(..used.max(self.used)).unwrap_or(words);
        self.used = used;
        self.file.write_all_at(as_bytes(changed), 0).expect("a file in memory can be written");
        let mapping = self.mapping.clone();
        Collector::new(mapping, layout, IdentityPolicy::Own(PROCESS))
            .expect("the size is that of the largest layout")
    }
}
