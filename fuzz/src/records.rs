//! Records of every type, chosen by bytes, some of them damaged.

use trace_format::encode::append;
use trace_format::layout::{BlobType, InstantScope, ObjectType, ThreadKoids, ThreadState};
use trace_format::record::{
    Argument, Backtrace, Blob, ContextSwitch, Event, EventKind, KernelObject, LargeBlob,
    LargeBlobEvent, LegacyContextSwitch, Log, Metadata, Mmap, Module, Record, ThreadWakeup,
    UserspaceObject, Value,
};

use crate::choices::{Choices, OTHER_PROCESS};

/// The most words of the records that one input chooses.
pub(crate) const MAX_WORDS: usize = 8192;

/// Appends a record; what cannot be written is left out.
pub(crate) fn put<'a>(words: &mut Vec<u64>, record: impl Into<Record<'a>>) {
    let _impossible = append(words, &record.into());
}

impl<'a> Choices<'a> {
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
        match self.below(12) {
            0 => EventKind::Instant { scope: None },
            1 => EventKind::Instant { scope: Some(InstantScope::Global) },
            2 => EventKind::Counter { id: self.id() },
            3 => EventKind::DurationBegin,
            4 => EventKind::DurationEnd,
            5 => EventKind::DurationComplete { end: self.end() },
            6 => EventKind::AsyncBegin { id: self.id() },
            7 => EventKind::AsyncInstant { id: self.id() },
            8 => EventKind::AsyncEnd { id: self.id() },
            9 => EventKind::FlowBegin { id: self.id() },
            10 => EventKind::FlowStep { id: self.id() },
            _ => EventKind::FlowEnd { id: self.id() },
        }
    }

    pub(crate) fn records(&mut self, words: &mut Vec<u64>) {
        while !self.is_empty() && words.len() < MAX_WORDS {
            let start = words.len();
            self.record(words);
            if self.below(4) == 0 {
                self.damage(words, start);
            }
        }
    }

    pub(crate) fn record(&mut self, words: &mut Vec<u64>) {
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
            10 => {
                let (ticks, thread, message) = (self.ticks(), self.thread(), self.bytes());
                put(words, Log { ticks, thread, message });
            }
            11 => self.large(words),
            12 => self.scheduling(words),
            13 => {
                let (ticks, process) = (self.ticks(), self.process());
                let (name, build_id) = (self.bytes(), self.bytes());
                put(words, Module { ticks, process, module_id: 1, name, build_id });
            }
            14 => {
                let (ticks, process) = (self.ticks(), self.process());
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
                let ticks = self.ticks();
                put(words, Backtrace { ticks, thread: self.thread(), frames });
            }
            16 => put(words, Metadata::ProviderSection { id: 2 }),
            _ => put(words, Record::Initialization { ticks_per_second: self.word() }),
        }
    }

    fn event(&mut self, words: &mut Vec<u64>) {
        let arguments = self.arguments();
        let event = Event {
            ticks: self.ticks(),
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
            ticks: self.ticks(),
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
        let (ticks, state) = (self.ticks(), ThreadState::RUNNING);
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
    pub(crate) fn damage(&mut self, words: &mut Vec<u64>, start: usize) {
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
