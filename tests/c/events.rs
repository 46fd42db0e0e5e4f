//! The events of an archive as lines of text.

use std::path::Path;

use trace_format::{EventKind, Reader, Record, Value};

/// All events but those of the tracing system itself: category, name, kind, arguments.
#[track_caller]
pub(crate) fn events(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path)
        .unwrap_or_else(|error| panic!("no archive {}: {error}", path.display()));
    let mut reader = Reader::new(bytes.as_slice());
    let mut events = Vec::new();
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        let Record::Event(event) = &item.record else { continue };
        if item.text(event.category) == "trace" {
            continue;
        }
        let kind = match event.kind {
            EventKind::DurationComplete { end } => {
                assert!(end >= event.ticks, "it ends after it begins");
                "Complete".to_owned()
            }
            kind => format!("{kind:?}"),
        };
        let mut line = format!("{}/{} {kind}", item.text(event.category), item.text(event.name));
        for argument in event.arguments.iter() {
            let value = match argument.value {
                Value::String(text) => format!("{:?}", item.text(text)),
                other => format!("{other:?}"),
            };
            line.push_str(&format!(" {}={value}", item.text(argument.name)));
        }
        events.push(line);
    }
    assert_eq!(reader.stats().bad_records, 0);
    events
}

/// Returns the number of events with this prefix.
pub(crate) fn count(events: &[String], start: &str) -> usize {
    events.iter().filter(|event| event.starts_with(start)).count()
}
