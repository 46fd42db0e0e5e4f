//! Encoding and decoding of random records.

use proptest::collection::vec;
use proptest::prelude::*;
use trace_format::layout::{BlobType, InstantScope, ObjectType, ProviderEvent, ThreadState};
use trace_format::{
    decode, encode, words, Argument, Arguments, Backtrace, Blob, ContextSwitch, DecodeError, Event,
    EventKind, Frames, KernelObject, LargeBlob, LargeBlobEvent, LegacyContextSwitch, Log, Metadata,
    Mmap, Module, Process, Record, ReferenceMut, Text, Thread, ThreadKoids, ThreadWakeup,
    UserspaceObject, Value,
};

use trace_format::words::Word;

/// Random fields for records of each type.
#[derive(Debug, Clone)]
struct Parts {
    numbers: [u64; 5],
    bytes: [Vec<u8>; 3],
    indexed: [bool; 3],
    arguments: Vec<(u8, u64, Vec<u8>)>,
    frames: Vec<u64>,
}

prop_compose! {
    fn parts()(
        numbers in any::<[u64; 5]>(),
        bytes in [vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..40), vec(any::<u8>(), 0..255)],
        indexed in any::<[bool; 3]>(),
        arguments in vec((0u8..11, any::<u64>(), vec(any::<u8>(), 0..20)), 0..=15),
        frames in vec(any::<u64>(), 0..=255),
    ) -> Parts {
        Parts { numbers, bytes, indexed, arguments, frames }
    }
}

impl Parts {
    fn text(&self, which: usize) -> Text<'_> {
        if self.indexed[which] {
            return Text::Indexed(self.numbers[which] as u16 & 0x7fff | 1);
        }
        Text::Inline(&self.bytes[which])
    }

    fn thread(&self, which: usize) -> Thread {
        let number = self.numbers[which];
        if self.indexed[which] {
            return Thread::Indexed(number as u8 | 1);
        }
        Thread::Inline(ThreadKoids::new(number, self.numbers[4]))
    }

    fn process(&self) -> Process {
        if self.indexed[2] {
            return Process::Indexed(self.numbers[2] as u8 | 1);
        }
        Process::Inline(self.numbers[2])
    }

    fn arguments(&self) -> Vec<Argument<'_>> {
        let parts = self.arguments.iter();
        parts
            .map(|(kind, number, bytes)| Argument::new(self.text(1), value(*kind, *number, bytes)))
            .collect()
    }

    fn event_kind(&self) -> EventKind {
        let id = self.numbers[3];
        let scope = InstantScope::from_bits(id % 4);
        let kinds = [
            EventKind::Instant { scope },
            EventKind::Counter { id },
            EventKind::DurationBegin,
            EventKind::DurationEnd,
            EventKind::DurationComplete { end: id },
            EventKind::AsyncBegin { id },
            EventKind::AsyncInstant { id },
            EventKind::AsyncEnd { id },
            EventKind::FlowBegin { id },
            EventKind::FlowStep { id },
            EventKind::FlowEnd { id },
        ];
        kinds[self.numbers[4] as usize % kinds.len()]
    }

    fn records<'a>(&'a self, arguments: &'a [Argument<'a>]) -> Vec<Record<'a>> {
        [self.plain_records(), self.records_with_arguments(arguments)].concat()
    }

    fn plain_records(&self) -> Vec<Record<'_>> {
        let [a, b, c, d, e] = self.numbers;
        let name = &self.bytes[2];
        let id = a as u32;
        vec![
            Metadata::ProviderInfo { id, name }.into(),
            Metadata::ProviderSection { id }.into(),
            Metadata::ProviderEvent { id, event: ProviderEvent(b as u8 & 15) }.into(),
            Metadata::MagicNumber.into(),
            Record::Initialization { ticks_per_second: a | 1 },
            Record::String { index: a as u16 & 0x7fff | 1, value: name },
            Record::Thread { index: a as u8 | 1, koids: ThreadKoids::new(b, c) },
            Blob { name: self.text(0), blob_type: BlobType(b as u8), payload: name }.into(),
            LegacyContextSwitch {
                ticks: a,
                cpu: b as u8,
                outgoing_state: ThreadState(c as u8 & 15),
                outgoing: self.thread(0),
                incoming: self.thread(1),
                outgoing_priority: d as u8,
                incoming_priority: e as u8,
            }
            .into(),
            Log { ticks: a, thread: self.thread(1), message: name }.into(),
            Module {
                ticks: a,
                process: self.process(),
                module_id: b as u16,
                name: &self.bytes[0],
                build_id: name,
            }
            .into(),
            Mmap {
                ticks: a,
                process: self.process(),
                module_id: b as u16,
                flags: c as u8 & 7,
                start: c,
                length: d,
                module_address: e,
            }
            .into(),
            Backtrace { ticks: a, thread: self.thread(0), frames: Frames::from(&*self.frames) }
                .into(),
            LargeBlob { category: self.text(0), name: self.text(1), event: None, payload: name }
                .into(),
        ]
    }

    fn records_with_arguments<'a>(&'a self, arguments: &'a [Argument<'a>]) -> Vec<Record<'a>> {
        let [ticks, cpu, state, out_thread, in_thread] = self.numbers;
        let (category, name, thread) = (self.text(0), self.text(1), self.thread(2));
        let arguments = arguments.into();
        let event = LargeBlobEvent { ticks, thread, arguments };
        vec![
            Event { ticks, thread, category, name, kind: self.event_kind(), arguments }.into(),
            UserspaceObject { process: self.process(), pointer: cpu, name, arguments }.into(),
            KernelObject { object_type: ObjectType(cpu as u8), koid: state, name, arguments }
                .into(),
            ContextSwitch {
                ticks,
                cpu: cpu as u16,
                outgoing_state: ThreadState(state as u8 & 15),
                outgoing_thread: out_thread,
                incoming_thread: in_thread,
                arguments,
            }
            .into(),
            ThreadWakeup { ticks, cpu: cpu as u16, thread: in_thread, arguments }.into(),
            LargeBlob { category, name, event: Some(event), payload: &self.bytes[2] }.into(),
        ]
    }
}

fn value(kind: u8, number: u64, bytes: &[u8]) -> Value<'_> {
    match kind {
        0 => Value::Null,
        1 => Value::Int32(number as i32),
        2 => Value::Uint32(number as u32),
        3 => Value::Int64(number as i64),
        4 => Value::Uint64(number),
        5 => Value::Double(number as f64 / 3.0),
        6 => Value::String(Text::Inline(bytes)),
        7 => Value::Pointer(number),
        8 => Value::Koid(number),
        9 => Value::Bool(number & 1 == 1),
        _ => Value::Blob(bytes),
    }
}

/// Returns the record one tick later, with inverted koids.
fn with_changes(mut record: Record<'_>) -> Record<'_> {
    record.times().for_each(|ticks| *ticks = ticks.wrapping_add(1));
    let flip = |koids: ThreadKoids| ThreadKoids::new(!koids.process, !koids.thread);
    record.references_mut(|reference| match reference {
        ReferenceMut::Thread(Thread::Inline(koids)) => *koids = flip(*koids),
        ReferenceMut::Process(Process::Inline(koid)) => *koid = !*koid,
        _ => {}
    });
    match &mut record {
        Record::Thread { koids, .. } => *koids = flip(*koids),
        Record::KernelObject(object) => object.koid = !object.koid,
        Record::ContextSwitch(switch) => {
            switch.outgoing_thread = !switch.outgoing_thread;
            switch.incoming_thread = !switch.incoming_thread;
        }
        Record::ThreadWakeup(wakeup) => wakeup.thread = !wakeup.thread,
        _ => {}
    }
    record
}

fn encoded(record: &Record<'_>) -> Vec<u8> {
    let mut words: Vec<u64> = Vec::new();
    encode::append(&mut words, record).unwrap();
    encode::to_bytes(&words)
}

proptest! {
    #[test]
    fn decoding_returns_the_encoded_record(parts in parts()) {
        let arguments = parts.arguments();
        for record in parts.records(&arguments) {
            let bytes = encoded(&record);
            let decoded = decode::record(&bytes);
            prop_assert_eq!(decoded, Ok(record));
            prop_assert_eq!(encoded(&decoded.unwrap()), bytes);
        }
    }

    #[test]
    fn arguments_are_replaced(parts in parts()) {
        let arguments = parts.arguments();
        for mut record in parts.records_with_arguments(&arguments) {
            prop_assert_eq!(record.arguments(), (&*arguments).into());
            *record.arguments_mut().unwrap() = Arguments::NONE;
            prop_assert_eq!(record.arguments(), Arguments::NONE);
        }
        for mut record in parts.plain_records() {
            prop_assert_eq!(record.arguments(), Arguments::NONE);
            prop_assert_eq!(record.arguments_mut(), None);
        }
    }

    #[test]
    fn times_and_koids_are_changed_in_place(parts in parts()) {
        let arguments = parts.arguments();
        let mut other_arguments = arguments.clone();
        for argument in &mut other_arguments {
            if let Value::Koid(koid) = &mut argument.value {
                *koid = !*koid;
            }
        }
        let records = parts.records(&arguments);
        for (record, expected) in records.into_iter().zip(parts.records(&other_arguments)) {
            let mut bytes = encoded(&record);
            words::change(&mut bytes, |word, number| match word {
                Word::Ticks => number.wrapping_add(1),
                Word::Koid => !number,
                Word::Other => number,
            });
            prop_assert_eq!(decode::record(&bytes), Ok(with_changes(expected)));
        }
    }

    #[test]
    fn a_truncated_record_is_an_error(parts in parts(), cut in any::<proptest::sample::Index>()) {
        let arguments = parts.arguments();
        for record in parts.records(&arguments) {
            let mut bytes = encoded(&record);
            bytes.truncate(cut.index(bytes.len()));
            let error = decode::record(&bytes).unwrap_err();
            let is_truncation = matches!(error, DecodeError::Truncated { .. })
                || matches!(error, DecodeError::Short { what: "record header", at: 0 });
            prop_assert!(is_truncation, "{:?}", error);
        }
    }
}
