use trace_format::{Argument, Value};

use super::*;
use crate::testing::{archive, event, opened, query};

/// A sink that keeps nothing.
struct Nothing;

impl EventSink for Nothing {
    fn row(&mut self, _: &EventRow<'_>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn arguments_of_events_without_a_row_are_dropped() {
    let arguments = [Argument::new("a", Value::Int32(1))];
    let mut records = Vec::new();
    for id in 0..100 {
        records.push(event("end", 10, EventKind::DurationEnd, &arguments));
        records.push(event("end", 10, EventKind::AsyncEnd { id }, &arguments));
    }
    records.push(event("begin", 20, EventKind::DurationBegin, &arguments));
    records.push(event("begin", 20, EventKind::AsyncBegin { id: 7 }, &arguments));
    let (_file, archive) = opened(&archive(&records)).unwrap();
    let events = Events { spans: true, operations: true, ..Events::NONE };
    let mut reader = EventReader::with_args(events);
    archive.each(|item, number| reader.record(item, number, &mut Nothing)).unwrap();
    assert_eq!(reader.args.as_ref().unwrap().len(), 202, "they wait for their begins");
    reader.finish(&mut Nothing).unwrap();
    assert_eq!(reader.args.unwrap().len(), 0);
}

#[test]
fn deeply_nested_spans_have_rows() {
    let arguments = [Argument::new("a", Value::Int32(1))];
    let begins = 20_000;
    let begin = |time| event("deep", time, EventKind::DurationBegin, &arguments);
    let mut records: Vec<_> = (0..begins).map(begin).collect();
    // The ends of the two innermost ones.
    records.push(event("deep", begins, EventKind::DurationEnd, &[]));
    records.push(event("deep", begins + 1, EventKind::DurationEnd, &[]));
    let bytes = archive(&records);
    let sql = "SELECT count(*), count(parent_id), max(depth), sum(CAST(is_open AS INT)), \
        sum(cardinality(args)) FROM spans";
    assert_eq!(query(&bytes, sql), ["20000|19999|19999|19998|20000"]);
}
