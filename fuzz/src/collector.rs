//! The collector against the reader: all that the one lets through, the other reads.

use trace_analyze::check::{self, Verdict};
use trace_format::audit::Audit;
use trace_format::encode::{append, append_bytes};
use trace_format::layout::{BlobType, InstantScope, ObjectType, ThreadKoids, ThreadState};
use trace_format::record::{
    Argument, Backtrace, Blob, ContextSwitch, Event, EventKind, KernelObject, LargeBlob,
    LargeBlobEvent, LegacyContextSwitch, Log, Metadata, Mmap, Module, Process, Record, Reference,
    Text, Thread, ThreadWakeup, UserspaceObject, Value,
};
use trace_format::{notes, Item, Reader};
use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::DurableWriter;
use trace_protocol::message::ClockSource;

/// The provider's process, as the kernel says, and another one.
const PROCESS: u64 = 4711;
const OTHER_PROCESS: u64 = 4242;

/// Clock anchors that the manager writes here.
const ANCHORS: usize = 1;

/// Takes bytes for what a provider wrote. The first one says whether they are its words as they
/// are, or say which records it wrote and what is wrong with them.
pub fn collector(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return };
    let mut words = Vec::new();
    tables(&mut words);
    match form & 1 {
        0 => words.extend(
            rest.chunks_exact(8)
                .map(|word| u64::from_le_bytes(word.try_into().expect("these are 8 bytes"))),
        ),
        _ => Choices(rest).records(&mut words),
    }
    readable(&archive_of(&words));
}

/// What records refer to: strings with the indexes 1 to 4, threads with 1 and 2.
fn tables(words: &mut Vec<u64>) {
    for (index, text) in [(1, "trace"), (2, notes::CLOCK_ANCHOR), (3, "process"), (4, "äöü")] {
        put(words, Record::String { index, value: text.as_bytes() });
    }
    for (index, process) in [(1, PROCESS), (2, OTHER_PROCESS)] {
        put(words, Record::Thread { index, koids: ThreadKoids::new(process, 5) });
    }
}

/// Appends a record; what cannot be written is left out.
fn put<'a>(words: &mut Vec<u64>, record: impl Into<Record<'a>>) {
    let _impossible = append(words, &record.into());
}

const PARTS: Parts = Parts {
    losses_size: Layout::MIN_LOSSES_SIZE,
    durable_size: 256 << 10,
    rolling_buffers: 1,
    rolling_size: 4096,
    unit_size: 256,
};

/// What a manager writes of a provider that left these words.
fn archive_of(words: &[u64]) -> Vec<u8> {
    let layout = Layout::new(BufferingMode::Oneshot, PARTS).expect("a layout as any other");
    let mapping = WriteMapping::anonymous(layout.total_size());
    let mut durable = DurableWriter::new(mapping.clone(), layout);
    let _full = durable.append(words);
    let mut collector = Collector::new(mapping.reader(), layout, IdentityPolicy::Own(PROCESS))
        .expect("the layout is the mapping's");
    let identity = Identity {
        id: 1,
        name: "fuzz".to_owned(),
        process_name: "fuzz".to_owned(),
        pid: PROCESS as u32,
        uid: 0,
        clock: ClockSource::Boottime,
    };
    let mut archive = Vec::new();
    archive::magic(&mut archive);
    archive::opening(&mut archive, &identity, 1_000_000_000, &ClockSample::now());
    collector.finish(&mut archive);
    let mut bytes = Vec::new();
    append_bytes(&mut bytes, &archive);
    bytes
}

/// An archive that is well-formed for the reader and for check, and in which the provider speaks
/// for itself alone.
fn readable(archive: &[u8]) {
    let mut reader = Reader::new(archive);
    let (mut anchors, mut audit) = (0, Audit::default());
    while let Some(item) = reader.next().expect("the collector let it through") {
        item.record.references(|reference| followed(&item, reference));
        audit.item(&item);
        anchors += usize::from(is_anchor(&item));
        own(&item);
    }
    assert_eq!(anchors, ANCHORS, "anchors are the manager's");
    let stats = reader.stats();
    assert_eq!((stats.bad_records, stats.unknown_records), (0, 0));
    assert_eq!(audit, Audit::default());
    let report = check::check(Reader::new(archive)).expect("memory can be read");
    assert_ne!(report.verdict(), Verdict::Malformed, "{report:?}");
}

fn followed<'a>(item: &Item<'a>, reference: Reference<'a>) {
    match reference {
        Reference::Text(Text::Inline(bytes)) => {
            std::str::from_utf8(bytes).expect("text is UTF-8");
        }
        Reference::Text(text) => drop(item.text(text)),
        Reference::Thread(thread) => assert_eq!(item.thread(thread).process, PROCESS),
        Reference::Process(process) => assert_eq!(item.process(process), PROCESS),
    }
}

fn is_anchor(item: &Item<'_>) -> bool {
    matches!(&item.record, Record::Event(event)
        if matches!(event.kind, EventKind::Instant { .. })
            && item.text(event.category) == notes::CATEGORY
            && item.text(event.name) == notes::CLOCK_ANCHOR)
}

fn own(item: &Item<'_>) {
    match &item.record {
        Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
            assert_eq!(object.koid, PROCESS);
        }
        Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
            let mut koids = object.arguments.iter().filter(|argument| {
                item.text(argument.name) == "process" && matches!(argument.value, Value::Koid(_))
            });
            assert!(koids.all(|argument| argument.value == Value::Koid(PROCESS)));
        }
        Record::Log(log) => drop(std::str::from_utf8(log.message).expect("text is UTF-8")),
        Record::Module(module) => drop(std::str::from_utf8(module.name).expect("text is UTF-8")),
        _ => {}
    }
}

/// Bytes that choose what is written. Where there are none left they are zero.
struct Choices<'a>(&'a [u8]);

const TEXTS: [&str; 8] =
    ["", "a", "trace", notes::CLOCK_ANCHOR, "process", "uid", "äöüß", notes::OVERWRITTEN];

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn text(&mut self) -> Text<'a> {
        match self.below(4) {
            0 => Text::Indexed(u16::from(self.below(8))),
            1 => Text::Inline(self.bytes()),
            _ => TEXTS[usize::from(self.below(8))].into(),
        }
    }

    fn thread(&mut self) -> Thread {
        match self.below(3) {
            0 => Thread::Inline(ThreadKoids::new(OTHER_PROCESS, 7)),
            _ => Thread::Indexed(self.below(4)),
        }
    }

    fn process(&mut self) -> Process {
        match self.below(3) {
            0 => Process::Inline(OTHER_PROCESS),
            _ => Process::Indexed(self.below(4)),
        }
    }

    fn value(&mut self) -> Value<'a> {
        match self.below(11) {
            0 => Value::Null,
            1 => Value::Int32(-1),
            2 => Value::Uint32(7),
            3 => Value::Int64(-1),
            4 => Value::Uint64(7),
            5 => Value::Double(0.5),
            6 => Value::String(self.text()),
            7 => Value::Pointer(7),
            8 => Value::Koid(OTHER_PROCESS),
            9 => Value::Bool(true),
            _ => Value::Blob(self.bytes()),
        }
    }

    fn arguments(&mut self) -> Vec<Argument<'a>> {
        (0..self.below(4)).map(|_| Argument::new(self.text(), self.value())).collect()
    }

    fn kind(&mut self) -> EventKind {
        let id = 7;
        match self.below(12) {
            0 => EventKind::Instant { scope: None },
            1 => EventKind::Instant { scope: Some(InstantScope::Global) },
            2 => EventKind::Counter { id },
            3 => EventKind::DurationBegin,
            4 => EventKind::DurationEnd,
            5 => EventKind::DurationComplete { end: 9 },
            6 => EventKind::AsyncBegin { id },
            7 => EventKind::AsyncInstant { id },
            8 => EventKind::AsyncEnd { id },
            9 => EventKind::FlowBegin { id },
            10 => EventKind::FlowStep { id },
            _ => EventKind::FlowEnd { id },
        }
    }

    fn koid(&mut self) -> u64 {
        [PROCESS, OTHER_PROCESS, 0, 5][usize::from(self.below(4))]
    }

    fn records(&mut self, words: &mut Vec<u64>) {
        while !self.0.is_empty() && words.len() < 8192 {
            let start = words.len();
            self.record(words);
            if self.below(4) == 0 {
                self.damage(words, start);
            }
        }
    }

    fn record(&mut self, words: &mut Vec<u64>) {
        let ticks = 1;
        match self.below(18) {
            0 => put(words, Record::String { index: self.below(6).into(), value: self.bytes() }),
            1 => {
                let koids = ThreadKoids::new(self.koid(), 5);
                put(words, Record::Thread { index: self.below(4), koids });
            }
            2..=6 => self.event(words),
            7 => {
                let (name, payload) = (self.text(), self.bytes());
                put(words, Blob { name, blob_type: BlobType(self.below(4)), payload });
            }
            8 => {
                let (process, name, arguments) = (self.process(), self.text(), self.arguments());
                let arguments = arguments.as_slice().into();
                put(words, UserspaceObject { process, pointer: 9, name, arguments });
            }
            9 => {
                let (koid, name, arguments) = (self.koid(), self.text(), self.arguments());
                let arguments = arguments.as_slice().into();
                let object_type = ObjectType(self.below(4));
                put(words, KernelObject { object_type, koid, name, arguments });
            }
            10 => put(words, Log { ticks, thread: self.thread(), message: self.bytes() }),
            11 => self.large(words),
            12 => self.scheduling(words),
            13 => {
                let (process, name, build_id) = (self.process(), self.bytes(), self.bytes());
                put(words, Module { ticks, process, module_id: 1, name, build_id });
            }
            14 => {
                let process = self.process();
                let (start, length, module_address) = (1, 2, 3);
                let module_id = 1;
                put(
                    words,
                    Mmap { ticks, process, module_id, flags: 7, start, length, module_address },
                );
            }
            15 => {
                let frames: Vec<u64> = (0..self.below(5)).map(u64::from).collect();
                let frames = frames.as_slice().into();
                put(words, Backtrace { ticks, thread: self.thread(), frames });
            }
            16 => put(words, Metadata::ProviderSection { id: 2 }),
            _ => put(words, Record::Initialization { ticks_per_second: self.word() }),
        }
    }

    fn event(&mut self, words: &mut Vec<u64>) {
        let arguments = self.arguments();
        let event = Event {
            ticks: 1,
            thread: self.thread(),
            category: self.text(),
            name: self.text(),
            kind: self.kind(),
            arguments: arguments.as_slice().into(),
        };
        put(words, event);
    }

    fn large(&mut self, words: &mut Vec<u64>) {
        let arguments = self.arguments();
        let event = LargeBlobEvent {
            ticks: 1,
            thread: self.thread(),
            arguments: arguments.as_slice().into(),
        };
        let event = (self.below(2) == 0).then_some(event);
        let (category, name, payload) = (self.text(), self.text(), self.bytes());
        put(words, LargeBlob { category, name, event, payload });
    }

    fn scheduling(&mut self, words: &mut Vec<u64>) {
        let arguments = self.arguments();
        let arguments = arguments.as_slice().into();
        let (ticks, state) = (1, ThreadState::RUNNING);
        match self.below(3) {
            0 => put(
                words,
                LegacyContextSwitch {
                    ticks,
                    cpu: 1,
                    outgoing_state: state,
                    outgoing: self.thread(),
                    incoming: self.thread(),
                    outgoing_priority: 1,
                    incoming_priority: 1,
                },
            ),
            1 => put(
                words,
                ContextSwitch {
                    ticks,
                    cpu: 1,
                    outgoing_state: state,
                    outgoing_thread: 5,
                    incoming_thread: 6,
                    arguments,
                },
            ),
            _ => put(words, ThreadWakeup { ticks, cpu: 1, thread: 5, arguments }),
        }
    }

    /// Changes a word of the last record, most of the time a few bits of its beginning.
    fn damage(&mut self, words: &mut Vec<u64>, start: usize) {
        let last = words.len() - start;
        match self.below(4) {
            0 if last != 0 => words[start + usize::from(self.byte()) % last] = self.word(),
            1 => words.push(self.word()),
            2 if last > 1 => drop(words.pop()),
            _ if last != 0 => words[start] ^= 1 << self.below(64),
            _ => {}
        }
    }
}
