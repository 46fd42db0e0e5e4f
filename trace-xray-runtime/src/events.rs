//! The records of custom and typed events.
//!
//! They are those that a log becomes when it is read, so that they are the same events again in a
//! log: an instant if the data are text, else a blob event, in parts if they are long.

use trace_runtime::{trace_blob_event, trace_instant};

/// The most bytes of a text in a record.
const MAX_TEXT_BYTES: usize = 32_000;

pub(crate) fn custom(data: &[u8]) {
    match text(data) {
        Some(text) => trace_instant!("xray", "custom event", "payload" => text),
        None => trace_blob_event!("xray", "custom event", data),
    }
}

pub(crate) fn typed(event_type: usize, data: &[u8]) {
    // The format has 16 bits.
    let event_type = u32::from(event_type as u16);
    match text(data) {
        Some(text) => {
            trace_instant!("xray", "typed event", "type" => event_type, "payload" => text);
        }
        None => trace_blob_event!("xray", "typed event", data, "type" => event_type),
    }
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok().filter(|text| text.len() <= MAX_TEXT_BYTES)
}
