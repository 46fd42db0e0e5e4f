//! A recorder with its buffer, driven by the test in place of a service thread, and its collector.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trace_format::layout::{event, event_header, record, EventType, StringRef};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::function::FunctionWord;
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::{
    DurableWriter, LossStrings, OpenScope, Recorder, RecorderSession, Slot, CHUNK_THREAD,
};

/// The process that the kernel is said to name.
pub const PROCESS: u64 = 4711;

/// Longer than anything in these tests takes.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// An argument of one word: unsigned 32, the key is the string with index 100, the value 1.
pub const BEGUN: u64 = 0x0000_0001_0064_0012;

/// Like [`BEGUN`], with the value 2.
pub const ENDED: u64 = 0x0000_0002_0064_0012;

static CLOCK: AtomicU64 = AtomicU64::new(1);

/// A clock that never stands still.
pub fn clock() -> u64 {
    CLOCK.fetch_add(1, Ordering::Relaxed)
}

/// A layout with the smallest loss table and as few rolling buffers as the mode allows.
pub fn layout(
    mode: BufferingMode,
    durable_size: usize,
    rolling_size: usize,
    unit_size: usize,
) -> Layout {
    let parts = Parts {
        losses_size: Layout::MIN_LOSSES_SIZE,
        durable_size,
        rolling_buffers: if mode == BufferingMode::Oneshot { 1 } else { 2 },
        rolling_size,
        unit_size,
    };
    Layout::new(mode, parts).unwrap()
}

pub struct Harness {
    pub recorder: &'static Recorder,
    pub layout: Layout,
    pub collector: Collector,
    pub durable: DurableWriter,
}

impl Harness {
    pub fn new(mode: BufferingMode, size: usize) -> Self {
        Self::with_barrier(mode, size, true)
    }

    pub fn with_barrier(mode: BufferingMode, size: usize, asymmetric: bool) -> Self {
        Self::of_process(7, mode, size, asymmetric)
    }

    /// A recorder of the process with this number.
    pub fn of_process(process: u32, mode: BufferingMode, size: usize, asymmetric: bool) -> Self {
        Self::of_layout(process, Layout::plan(mode, size, 0).unwrap(), asymmetric)
    }

    /// A recorder whose scopes have function records.
    pub fn with_functions(mode: BufferingMode, size: usize, asymmetric: bool) -> Self {
        let layout = Layout::plan(mode, size, 0).unwrap().with_function_records(true);
        Self::of_layout(7, layout, asymmetric)
    }

    pub fn of_layout(process: u32, layout: Layout, asymmetric: bool) -> Self {
        let recorder: &'static Recorder = Box::leak(Box::new(Recorder::new()));
        recorder.provide(process, asymmetric);
        recorder.add_slots(Box::leak((0..64).map(|_| Slot::new()).collect()));
        let (collector, durable) = record(recorder, layout);
        Self { recorder, layout, collector, durable }
    }

    /// Ends the recording, which has stopped, and begins another one in a new buffer.
    pub fn renew(&mut self) {
        self.recorder.end().unwrap();
        (self.collector, self.durable) = record(self.recorder, self.layout);
    }

    /// Records into a new buffer with this layout, although a thread may be in a trace point.
    pub fn abandon(&mut self, layout: Layout) {
        self.recorder.stop(Duration::ZERO);
        drop(self.recorder.end());
        self.layout = layout;
        (self.collector, self.durable) = record(self.recorder, layout);
    }

    pub fn attach(&self, thread: u32) -> &'static Slot {
        self.recorder.attach(thread).unwrap()
    }

    /// Writes an instant whose timestamp is `value`. Its frame is below that of the caller.
    #[inline(never)]
    pub fn instant(&self, slot: &Slot, value: u64) -> bool {
        let Some(open) = slot.open(self.recorder, 2) else { return false };
        open.words()[1].store(value, Ordering::Relaxed);
        open.commit(header(EventType::Instant, 2));
        true
    }

    pub fn begin(&self, slot: &Slot) -> OpenScope {
        let Some(open) = slot.open(self.recorder, 3) else { return OpenScope::NOT_RECORDED };
        let start = clock();
        open.words()[1].store(start, Ordering::Relaxed);
        OpenScope::begin(open, header(EventType::DurationBegin, 3), start)
    }

    /// Begins a scope of a function at this time, as the runtime does.
    pub fn enter(&self, slot: &Slot, function: FunctionWord, at: u64) -> OpenScope {
        let direct = slot.open_direct(self.recorder, 3);
        if let Some(scope) = direct.and_then(|open| OpenScope::enter_direct(open, function, || at))
        {
            return scope;
        }
        let Some(open) = slot.open(self.recorder, 3) else { return OpenScope::NOT_RECORDED };
        OpenScope::enter(open, function, || at)
    }

    /// Ends a scope at this time.
    pub fn end_at(&self, slot: &Slot, scope: &OpenScope, at: u64) {
        if scope.is_recorded() {
            scope.end(slot, self.recorder, || at, |_| {});
        }
    }

    /// Begins a scope with the argument [`BEGUN`].
    pub fn begin_with_argument(&self, slot: &Slot) -> OpenScope {
        let Some(open) = slot.open(self.recorder, 4) else { return OpenScope::NOT_RECORDED };
        let start = clock();
        open.words()[1].store(start, Ordering::Relaxed);
        open.words()[2].store(BEGUN, Ordering::Relaxed);
        let header = event::ArgumentCount::set(header(EventType::DurationBegin, 4), 1);
        OpenScope::begin(open, header, start)
    }

    /// Ends a scope of [`Harness::begin_with_argument`], whose argument becomes [`ENDED`].
    pub fn end_with_argument(&self, slot: &Slot, scope: &OpenScope) {
        scope.end_with(ENDED, slot, self.recorder, clock);
    }

    pub fn end(&self, slot: &Slot, scope: OpenScope) {
        scope.end(slot, self.recorder, clock, |_| {});
    }

    /// Plays the service thread and the manager for one wrap of a streaming buffer.
    pub fn save(&mut self, wrapped_count: u32, out: &mut Vec<u64>) {
        self.recorder.quiesce(PATIENCE);
        self.collector.collect_durable(self.durable.end(), out);
        let save = self.collector.copy_rolling(wrapped_count);
        self.recorder.mark_saved(wrapped_count);
        self.collector.sanitize(save, out);
    }

    /// Losses that events report or the loss table accounts for beyond them. To be asked at the
    /// end.
    pub fn accounted(&self) -> u64 {
        let unreported = self.collector.unreported();
        self.collector.stats().reported_losses
            + unreported.iter().map(|lost| lost.number).sum::<u64>()
    }

    /// Stops and collects what is left.
    pub fn finish(&mut self, out: &mut Vec<u64>) {
        self.recorder.stop(PATIENCE);
        self.recorder.write_last_ends(&mut self.durable);
        self.collector.finish(out);
    }
}

/// Begins to record into a new buffer.
fn record(recorder: &'static Recorder, layout: Layout) -> (Collector, DurableWriter) {
    let mapping = WriteMapping::anonymous(layout.total_size());
    let mut durable = DurableWriter::new(mapping.clone(), layout);
    let mut index = 0;
    let loss_strings = LossStrings::register(|text| {
        index += 1;
        durable.append(&string_record(index, text)).unwrap();
        StringRef::indexed(index)
    });
    for (index, text) in [(100, "category"), (101, "name"), (102, "other name")] {
        durable.append(&string_record(index, text)).unwrap();
    }
    let collector = Collector::new(mapping.reader(), layout, IdentityPolicy::Own(PROCESS)).unwrap();
    let session = RecorderSession { mapping, layout, process: 1, clock, wake: &(), loss_strings };
    recorder.begin(Box::new(session)).unwrap();
    recorder.start();
    (collector, durable)
}

pub fn header(event_type: EventType, words: usize) -> u64 {
    event_header(
        event_type,
        words,
        0,
        CHUNK_THREAD,
        StringRef::indexed(100),
        StringRef::indexed(101),
    )
}

pub fn string_record(index: u16, text: &str) -> Vec<u64> {
    let words = 1 + text.len().div_ceil(8);
    let mut record =
        vec![2 | (words as u64) << 4 | u64::from(index) << 16 | (text.len() as u64) << 32];
    record.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
    record
}

/// The records of an archive's words.
pub fn records(words: &[u64]) -> Vec<&[u64]> {
    let mut rest = words;
    let mut records = Vec::new();
    while let Some(&header) = rest.first() {
        let (record, behind) = rest.split_at(record::Size::get(header) as usize);
        records.push(record);
        rest = behind;
    }
    records
}

/// The events of the category `category`, each with the thread that its last thread record names.
pub fn events(words: &[u64]) -> Vec<(u64, EventType, &[u64])> {
    let mut thread = 0;
    let mut events = Vec::new();
    for record in records(words) {
        match record[0] & 0xf {
            3 => {
                assert_eq!(record[1], PROCESS, "the process is who the kernel says it is");
                thread = record[2];
            }
            4 if event::CategoryRef::get(record[0]) == 100 => {
                let kind = EventType::from_bits(event::EventType::get(record[0])).unwrap();
                events.push((thread, kind, record));
            }
            _ => {}
        }
    }
    events
}

/// The timestamps of the instants of one thread, in the archive's order.
pub fn instants(words: &[u64], thread: u64) -> Vec<u64> {
    let of_thread =
        |&(of, kind, _): &(u64, EventType, &[u64])| of == thread && kind == EventType::Instant;
    events(words).into_iter().filter(of_thread).map(|(_, _, record)| record[1]).collect()
}
