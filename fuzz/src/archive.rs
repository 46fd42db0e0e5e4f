//! Archives out of any bytes.

use trace_analyze::carried;
use trace_format::encode::append_bytes;
use trace_format::layout::{BlobType, InstantScope, ProviderEvent, ThreadKoids, MAGIC_WORD};
use trace_format::notes::{self, Omission};
use trace_format::record::{Argument, Blob, Event, EventKind, Metadata, Record, Thread, Value};

use crate::choices::{Choices, OTHER_PROCESS, PROCESS};
use crate::records::{put, MAX_WORDS};

/// The start of every archive.
pub(crate) const MAGIC: [u8; 8] = MAGIC_WORD.to_le_bytes();

/// The strings 1 to 7 of an archive.
const STRINGS: [&str; 7] =
    ["trace", notes::CLOCK_ANCHOR, "process", "äöü", "task", notes::RECORDS_DROPPED, "number"];

/// Payloads of the blobs that carry the Trace Event Format.
const CARRIED: [&str; 5] = [
    "array",
    "object",
    r#"{"ph":"X","ts":1.5,"dur":2,"pid":1,"tid":2,"name":"a"}"#,
    r#"{"ph":"P","ts":1}"#,
    r#""key":[1,2]"#,
];

/// Makes an archive. Bytes that start as one are one; else the first byte says whether the others
/// are its records as they are, or choose its records.
pub(crate) fn archive(bytes: &[u8]) -> Vec<u8> {
    let (form, rest) = bytes.split_first().unwrap_or((&0, &[]));
    match form {
        _ if bytes.starts_with(&MAGIC) => bytes.to_owned(),
        form if form & 1 == 0 => [&MAGIC, rest].concat(),
        _ => chosen(rest),
    }
}

fn chosen(choices: &[u8]) -> Vec<u8> {
    let mut words = vec![MAGIC_WORD];
    put(&mut words, Metadata::ProviderInfo { id: 1, name: b"fuzz" });
    put(&mut words, Record::Initialization { ticks_per_second: 1_000_000_000 });
    for (index, text) in (1..).zip(STRINGS) {
        put(&mut words, Record::String { index, value: text.as_bytes() });
    }
    for (index, process) in [(1, PROCESS), (2, OTHER_PROCESS)] {
        put(&mut words, Record::Thread { index, koids: ThreadKoids::new(process, 5) });
    }
    Choices::over_time(choices).archive(&mut words);
    let mut bytes = Vec::new();
    append_bytes(&mut bytes, &words);
    bytes
}

impl Choices<'_> {
    fn archive(&mut self, words: &mut Vec<u64>) {
        while !self.is_empty() && words.len() < MAX_WORDS {
            let start = words.len();
            match self.below(12) {
                0 => self.metadata(words),
                1 => self.note(words),
                2 => self.carried(words),
                _ => self.record(words),
            }
            if self.below(16) == 0 {
                self.damage(words, start);
            }
        }
    }

    fn metadata(&mut self, words: &mut Vec<u64>) {
        let id = u32::from(self.below(3));
        match self.below(4) {
            0 => put(words, Metadata::ProviderInfo { id, name: self.bytes() }),
            1 => put(words, Metadata::ProviderEvent { id, event: ProviderEvent::BUFFER_FULL }),
            2 => put(words, Record::Initialization { ticks_per_second: 1_000 }),
            _ => put(words, Metadata::ProviderSection { id }),
        }
    }

    /// Appends an event of the tracing system itself.
    fn note(&mut self, words: &mut Vec<u64>) {
        let ticks = self.ticks();
        let number = Value::Uint64(u64::from(self.byte()));
        let name = match self.below(4) {
            0 => notes::CLOCK_ANCHOR,
            1 => notes::RECORDS_DROPPED,
            2 => notes::OVERWRITTEN,
            _ => self.of(&Omission::ALL).event(),
        };
        let clock = self.of(&[0, 1_000_000_000, 1_700_000_000_000_000_000, u64::MAX]);
        let arguments = [
            Argument::new("ticks", Value::Uint64(ticks)),
            Argument::new("realtime_ns", Value::Uint64(clock)),
            Argument::new("boottime_ns", Value::Uint64(ticks)),
            Argument::new("reason", Value::String("buffer full".into())),
            Argument::new("from", Value::Uint64(ticks.wrapping_sub(100))),
            Argument::new("to", Value::Uint64(ticks)),
        ];
        let arguments = match name {
            notes::CLOCK_ANCHOR => &arguments[..3],
            notes::RECORDS_DROPPED => {
                &[&arguments[3..], &[Argument::new("number", number)]].concat()
            }
            _ => &[Argument::new("number", number)],
        };
        let event = Event {
            ticks,
            thread: Thread::Indexed(1),
            category: notes::CATEGORY.into(),
            name: name.into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Global) },
            arguments: arguments.into(),
        };
        put(words, event);
    }

    /// Appends a blob of an archive that was JSON.
    fn carried(&mut self, words: &mut Vec<u64>) {
        let name = self.of(&[carried::DOCUMENT, carried::EVENT, carried::MEMBER, carried::MORE]);
        let payload = self.of(&CARRIED).as_bytes();
        put(words, Blob { name: name.into(), blob_type: BlobType::DATA, payload });
    }
}
