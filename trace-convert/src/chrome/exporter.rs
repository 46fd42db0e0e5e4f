//! The exporter for JSON.

use std::collections::BTreeSet;
use std::io::{self, Write};

use trace_analyze::catalog::Catalog;
use trace_analyze::objects::Objects;
use trace_analyze::scheduling::Turns;
use trace_analyze::Damage;
use trace_format::{Item, Metadata, Record, ThreadKoids};

use super::begins::Begins;

use super::documents::Documents;
use super::json::Json;
use super::system::System;
use crate::export::{convert_by_type, Exporter};
use crate::images::Images;
use crate::{Conversion, Symbols};

/// A conversion to JSON in progress.
#[derive(Debug, Default)]
pub(super) struct JsonExporter {
    pub(super) json: Json,
    pub(super) conversion: Conversion,
    /// The time of the last record that has one, in nanoseconds.
    pub(super) nanos: u64,
    /// Whether any record had a time.
    has_time: bool,
    pub(super) threads: Catalog,
    /// Whether the archive names a thread without its process.
    pub(super) has_loose_names: bool,
    /// The CPUs that have a name in the JSON.
    pub(super) named_cpus: BTreeSet<u16>,
    pub(super) turns: Turns<()>,
    /// Whether the first bracket of the JSON was written.
    pub(super) is_started: bool,
    /// Whether the array of events was opened.
    pub(super) has_events: bool,
    pub(super) documents: Documents,
    pub(super) system: System,
    pub(super) begins: Begins,
    pub(super) objects: Objects,
    pub(super) images: Images,
    pub(super) symbols: Symbols,
}

impl Exporter for JsonExporter {
    #[inline]
    fn record(&mut self, item: &Item<'_>) {
        self.objects.note(item);
        self.threads.note_threads(item);
        self.images.note(item);
        if self.symbols.note(item) {
            return;
        }
        if !self.is_started && !self.start_with(item) {
            return;
        }
        match self.documents.is_empty() {
            true => self.convert(item),
            false => self.record_among_documents(item),
        }
    }

    #[inline]
    fn write_full_pieces(&mut self, output: &mut impl Write) -> io::Result<()> {
        self.json.write_full_pieces(output)
    }

    fn finish(mut self, damage: Damage, output: &mut impl Write) -> io::Result<Conversion> {
        self.conversion.damage = damage;
        self.conversion.mappings_left_out = self.images.omitted();
        if !self.is_started {
            self.start();
        }
        self.end_pieces();
        self.open_turns();
        self.names_of_first_threads();
        self.loose_names();
        if !self.finish_document(output)? {
            self.json.raw("\n],\"otherData\":");
            self.other_data();
            self.members_of_documents(output)?;
            self.system.write(output)?;
            self.json.raw("}\n");
        }
        self.json.write_all(output)?;
        self.conversion.symbols = Some(self.symbols);
        Ok(self.conversion)
    }
}

impl JsonExporter {
    pub(super) fn new(symbols: Symbols) -> Self {
        Self { symbols, ..Self::default() }
    }

    fn start(&mut self) {
        self.is_started = true;
        self.has_events = true;
        self.json.raw("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    }

    /// Starts the JSON at the first record that appears in it; returns `false` if `item` needs no
    /// further conversion.
    #[cold]
    fn start_with(&mut self, item: &Item<'_>) -> bool {
        match &item.record {
            Record::Metadata(Metadata::ProviderEvent { .. }) => self.start(),
            Record::Metadata(_)
            | Record::Initialization { .. }
            | Record::String { .. }
            | Record::Thread { .. } => return false,
            Record::Blob(blob) if self.start_document(item, blob) => return false,
            _ => self.start(),
        }
        true
    }

    /// Adds the JSON of a record.
    #[inline]
    pub(super) fn convert(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) => self.event(item, event),
            _ => self.convert_other(item),
        }
    }

    fn convert_other(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Blob(blob) if self.start_document(item, blob) => {}
            _ => convert_by_type!(self, item),
        }
    }

    /// Adds the input's statistics and damage.
    fn other_data(&mut self) {
        let Conversion { damage, counter_values_left_out, reversed_durations, .. } =
            &self.conversion;
        let stats = damage.stats;
        let numbers = [
            ("records", stats.records),
            ("records dropped", damage.records_dropped),
            ("buffers full", damage.buffers_full),
            ("bad records", stats.bad_records),
            ("unknown records", stats.unknown_records),
            ("unknown strings", damage.audit.unknown_strings),
            ("unknown threads", damage.audit.unknown_threads),
            ("counter values left out", *counter_values_left_out),
            ("reversed durations", *reversed_durations),
        ];
        self.json.begin_object();
        self.json.key("source").string("FXT");
        for (name, number) in numbers {
            self.json.key(name).safe_unsigned(number);
        }
        self.json.key("cut");
        match &damage.cut {
            Some(error) => self.json.string(&error.to_string()),
            None => self.json.raw("false"),
        }
        self.json.raw("}");
    }

    /// Starts a JSON event, including its time.
    #[inline]
    pub(super) fn begin(&mut self, head: &Head<'_>) {
        self.pass(head.nanos);
        self.begin_head(head);
        self.json.micros(head.nanos);
    }

    /// Starts the event of a record without a time. It has the time of the record before, or of the
    /// first record that has a time.
    pub(super) fn begin_at_last(&mut self, head: &Head<'_>) {
        self.begin_head(head);
        match self.has_time {
            true => self.json.micros(self.nanos),
            false => self.json.missing_time(),
        }
    }

    /// Records the time of a record.
    #[inline]
    pub(super) fn pass(&mut self, nanos: u64) {
        if !self.has_time {
            self.has_time = true;
            self.json.fill_times(nanos);
        }
        self.nanos = nanos;
    }

    #[inline]
    fn begin_head(&mut self, head: &Head<'_>) {
        self.begin_untimed(head.phase, head.thread);
        self.json.raw(",\"cat\":");
        self.json.string(head.category);
        self.json.raw(",\"name\":");
        self.json.string(head.name);
        self.json.raw(",\"ts\":");
    }

    /// Starts a JSON event, including its thread.
    #[inline]
    pub(super) fn begin_untimed(&mut self, phase: &str, thread: ThreadKoids) {
        self.begin_event();
        self.json.raw("{\"ph\":\"");
        self.json.raw(phase);
        self.json.raw("\",\"pid\":");
        self.koid(thread.process);
        self.json.raw(",\"tid\":");
        self.koid(thread.thread);
    }

    /// Starts a line for the next JSON event.
    #[inline]
    pub(super) fn begin_event(&mut self) {
        self.json.raw(if self.conversion.events == 0 { "\n" } else { ",\n" });
        self.conversion.events += 1;
    }

    /// Ends a JSON event.
    #[inline]
    pub(super) fn end(&mut self) {
        self.json.raw("}");
    }

    /// Ends the arguments and the JSON event.
    #[inline]
    pub(super) fn end_with_arguments(&mut self) {
        self.json.raw("}}");
    }

    /// Adds the koid of a process or thread.
    ///
    /// Koids above 32 bits are artificial. The low 32 bits of an application's tracks differ from
    /// all thread ids and are written as a number: viewers replace a string by a number that may be
    /// a thread id.
    #[inline]
    fn koid(&mut self, koid: u64) {
        if koid <= u64::from(u32::MAX) {
            self.json.unsigned(koid);
        } else if koid >> 30 == TRACK {
            self.json.unsigned(koid & u64::from(u32::MAX));
        } else {
            self.json.hex(koid);
        }
    }
}

/// The upper bits of the koids of an application's tracks: bit 63, and bit 30, which is 0 in the
/// thread ids of Linux. Bit 31 is 0.
const TRACK: u64 = 1 << 33 | 1;

/// The common members of JSON events with a time.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) phase: &'static str,
    pub(super) category: &'a str,
    pub(super) name: &'a str,
    pub(super) nanos: u64,
    pub(super) thread: ThreadKoids,
}
