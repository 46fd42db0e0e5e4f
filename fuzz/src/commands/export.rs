//! `trace convert` to Chrome's JSON, the Trace Event Format.

use serde_json::Value;
use trace_convert::chrome;
use trace_format::Reader;

use super::{assert_readable, json, written};
use crate::archive::archive;
use crate::json::to_fxt;

/// Takes bytes for an archive: it becomes JSON of the right form, which becomes an archive.
pub fn export(bytes: &[u8]) {
    let archive = archive(bytes);
    let output = written(&archive, |output| {
        chrome::write(Reader::new(&archive[..]), output).expect("it starts as archives do");
    });
    let value = json(&output);
    let events = match &value {
        Value::Array(events) => events,
        value => value["traceEvents"].as_array().expect("a list of events"),
    };
    assert!(events.iter().all(Value::is_object), "{value}");
    let again = to_fxt(&output).expect("what was written is a document");
    assert_readable(&again);
}
