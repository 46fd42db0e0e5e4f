//! Archives for tests.

use trace_format::{Arguments, Event, EventKind, Metadata, Record, Thread, ThreadKoids, Writer};

pub(crate) const THREAD: ThreadKoids = ThreadKoids::new(12, 34);

/// Returns an archive of provider 1, `app`, with these records. A tick is a nanosecond. The records
/// after the information of a provider are of that one.
pub(crate) fn archive(records: &[Record<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for record in records {
        match record {
            Record::Metadata(Metadata::ProviderInfo { id, name }) => {
                writer.provider(*id, std::str::from_utf8(name).unwrap()).unwrap();
            }
            record => writer.record(record).unwrap(),
        }
    }
    writer.into_inner()
}

/// Returns an event `cat:name` at 1500 ns on [`THREAD`].
pub(crate) fn event<'a>(kind: EventKind, arguments: impl Into<Arguments<'a>>) -> Record<'a> {
    Record::Event(Event {
        ticks: 1500,
        thread: Thread::Inline(THREAD),
        category: "cat".into(),
        name: "name".into(),
        kind,
        arguments: arguments.into(),
    })
}
