//! The collector against the reader: the reader accepts every record that the collector accepts.

use trace_analyze::check::{self, Verdict};
use trace_format::audit::Audit;
use trace_format::encode::append_bytes;
use trace_format::layout::{ObjectType, ThreadKoids};
use trace_format::record::{EventKind, Record, Reference, Text, Value};
use trace_format::{notes, Item, Reader};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{BufferingMode, Layout, Parts};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::DurableWriter;

use crate::choices::{Choices, OTHER_PROCESS, PROCESS};
use crate::provider::{opening, words_of};
use crate::records::put;

/// Clock anchors that the manager writes here.
const ANCHORS: usize = 1;

/// Collects what a provider wrote. The first byte decides whether the others are its words, or
/// choices of records and of their defects.
pub fn collector(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return };
    let mut words = Vec::new();
    tables(&mut words);
    match form & 1 {
        0 => words.extend(words_of(rest)),
        _ => Choices::at_one_time(rest).records(&mut words),
    }
    readable(&archive_of(&words));
}

/// What records refer to: strings with the indexes 1 to 4, threads with 1 and 2.
pub(crate) fn tables(words: &mut Vec<u64>) {
    for (index, text) in [(1, "trace"), (2, notes::CLOCK_ANCHOR), (3, "process"), (4, "äöü")] {
        put(words, Record::String { index, value: text.as_bytes() });
    }
    for (index, process) in [(1, PROCESS), (2, OTHER_PROCESS)] {
        put(words, Record::Thread { index, koids: ThreadKoids::new(process, 5) });
    }
}

const PARTS: Parts = Parts {
    losses_size: Layout::MIN_LOSSES_SIZE,
    durable_size: 128 << 10,
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
    let mut archive = opening().to_vec();
    collector.finish(&mut archive);
    let mut bytes = Vec::new();
    append_bytes(&mut bytes, &archive);
    bytes
}

/// An archive that is well-formed for the reader and for check, and in which the provider speaks
/// for itself alone.
pub(crate) fn readable(archive: &[u8]) {
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
