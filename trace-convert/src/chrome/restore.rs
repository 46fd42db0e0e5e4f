//! Restores JSON documents.
//!
//! An archive that was made of JSON carries what records cannot express, see
//! [`carried`](trace_analyze::carried). The document is restored from both.

mod event;
mod overrides;

use std::io::{self, Write};

use trace_format::layout::BlobType;
use trace_format::{Blob, Item, Record};

use super::documents::Pieces;
use super::exporter::JsonExporter;
use crate::rewrite::is_counter;
use crate::tef::{is_member, scan, Form};
use trace_analyze::carried::{ADDED, DOCUMENT, EVENT, MEMBER, MORE, SHIFT, SHOWN};

/// The maximum size of an event or member, in bytes: slightly more than the JSON reader accepts by
/// default.
const MAX_PIECES_BYTES: usize = 257 << 20;

impl JsonExporter {
    /// Starts a document if the blob is the start of one.
    pub(super) fn start_document<'a>(&mut self, item: &Item<'a>, blob: &Blob<'a>) -> bool {
        if item.text(blob.name) != DOCUMENT {
            return false;
        }
        let form = match blob.payload {
            b"array" => Form::Array,
            b"object" => Form::Object,
            _ => return false,
        };
        self.documents.providers.insert(item.provider.id(), 0);
        if !self.is_started {
            self.is_started = true;
            self.documents.restored = Some(form);
            self.json.raw(if form == Form::Array { "[" } else { "{" });
            self.has_events = form == Form::Array;
        }
        true
    }

    /// Converts a record of an archive that has documents.
    #[cold]
    pub(super) fn record_among_documents<'a>(&mut self, item: &Item<'a>) {
        if let Record::String { .. } | Record::Thread { .. } = item.record {
            return;
        }
        if let (Record::Blob(blob), true) = (&item.record, self.documents.has(item)) {
            return self.document_blob(item, blob);
        }
        self.end_pieces();
        self.open_events();
        let is_shown = self.documents.shown.remove(&item.provider.id());
        if is_shown && is_counter(&item.record) {
            return;
        }
        if !(self.documents.has(item) && self.restore(item)) {
            self.convert(item);
        }
    }

    fn document_blob<'a>(&mut self, item: &Item<'a>, blob: &Blob<'a>) {
        let name = item.text(blob.name);
        if name == MORE && blob.blob_type == BlobType::DATA {
            return self.append_piece(blob.payload);
        }
        self.end_pieces();
        let name = match &*name {
            EVENT | ADDED => EVENT,
            MEMBER => MEMBER,
            SHOWN => {
                self.documents.shown.insert(item.provider.id());
                return;
            }
            SHIFT if self.documents.set_shift(item, blob.payload) => return,
            _ if self.start_document(item, blob) => return,
            _ => {
                self.open_events();
                return self.blob(item, blob);
            }
        };
        self.documents.pieces = Some(Pieces { name, json: blob.payload.to_owned() });
    }

    fn append_piece(&mut self, payload: &[u8]) {
        match &mut self.documents.pieces {
            Some(pieces) if pieces.json.len() + payload.len() <= MAX_PIECES_BYTES => {
                pieces.json.extend_from_slice(payload);
            }
            _ => {
                self.end_pieces();
                self.open_events();
                self.blob_of(MORE, BlobType::DATA, payload);
            }
        }
    }

    /// Adds the event or member whose pieces are complete.
    pub(super) fn end_pieces(&mut self) {
        let Some(Pieces { name, json }) = self.documents.pieces.take() else {
            return;
        };
        match String::from_utf8(json) {
            Ok(json) if name == EVENT && json.starts_with('{') && scan::is_value(&json) => {
                self.open_events();
                self.begin_event();
                self.json.raw(&json);
            }
            Ok(json) if name == MEMBER && is_member(&json) => {
                self.member(&json);
            }
            json => {
                let json = json
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                self.open_events();
                self.blob_of(name, BlobType::DATA, json.as_bytes());
            }
        }
    }

    fn member(&mut self, json: &str) {
        match self.documents.restored {
            Some(Form::Object) if !self.has_events => {
                self.json.raw("\n");
                self.json.raw(json);
                self.json.raw(",");
            }
            // Only merged archives: an array cannot have members.
            Some(Form::Array) => {
                self.begin_event();
                self.json
                    .raw("{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"tef:member\",\"args\":{");
                self.json.raw(json);
                self.json.raw("}}");
            }
            Some(Form::Object) => self.documents.members.push(&[",\n", json]),
            None => {
                let is_first = self.documents.members.is_empty();
                let start = if is_first { ",\"tef:members\":[{" } else { ",{" };
                self.documents.members.push(&[start, json, "}"]);
            }
        }
    }

    /// Starts the array of events if it is not started yet.
    pub(super) fn open_events(&mut self) {
        if !self.has_events {
            self.has_events = true;
            self.json.raw("\n\"traceEvents\":[");
        }
    }

    /// Ends the document; returns `false` if the archive does not begin with one.
    pub(super) fn finish_document(&mut self, output: &mut impl Write) -> io::Result<bool> {
        match self.documents.restored {
            None => return Ok(false),
            Some(Form::Array) => self.json.raw("\n]\n"),
            Some(Form::Object) => {
                self.open_events();
                self.json.raw("\n]");
                self.json.write_all(output)?;
                std::mem::take(&mut self.documents.members).write(output)?;
                self.json.raw("}\n");
            }
        }
        Ok(true)
    }

    /// Adds the members of documents that were merged with other archives, and writes all JSON so
    /// far.
    pub(super) fn members_of_documents(&mut self, output: &mut impl Write) -> io::Result<()> {
        let members = std::mem::take(&mut self.documents.members);
        if !members.is_empty() {
            self.json.write_all(output)?;
            members.write(output)?;
            self.json.raw("]");
        }
        self.json.write_all(output)
    }
}
