//! Handmade logs, and items that own their data.
#![allow(dead_code, reason = "each test uses a part of it")]

use trace_xray::layout::{Action, Version};
use trace_xray::read::{Decoder, Item, Limits};
use trace_xray::write::encode;
use trace_xray::{
    CustomEvent, Format, FunctionId, FunctionRecord, Header, Record, TypedEvent, WallClock,
};

/// A record that owns its payload, as text.
pub(crate) type Owned = Record<'static>;

/// An item that owns its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnedItem {
    pub(crate) offset: u64,
    pub(crate) record: Owned,
    pub(crate) tsc: u64,
    pub(crate) cpu: u16,
    pub(crate) thread: i32,
    pub(crate) process: Option<i32>,
    pub(crate) wall_clock: Option<WallClock>,
}

impl From<Item<'_>> for OwnedItem {
    fn from(item: Item<'_>) -> Self {
        Self {
            offset: item.offset,
            record: owned(&item.record),
            tsc: item.tsc(),
            cpu: item.cpu(),
            thread: item.buffer.thread,
            process: item.buffer.process,
            wall_clock: item.buffer.wall_clock,
        }
    }
}

/// Leaks the payload: tests are short.
pub(crate) fn owned(record: &Record<'_>) -> Owned {
    let leaked = |payload: &[u8]| -> &'static [u8] { payload.to_vec().leak() };
    match *record {
        Record::CustomEvent(CustomEvent { time, payload }) => {
            Record::CustomEvent(CustomEvent { time, payload: leaked(payload) })
        }
        Record::TypedEvent(TypedEvent { delta, event_type, payload }) => {
            Record::TypedEvent(TypedEvent { delta, event_type, payload: leaked(payload) })
        }
        Record::Function(function) => Record::Function(function),
        Record::NewBuffer { thread } => Record::NewBuffer { thread },
        Record::EndOfBuffer => Record::EndOfBuffer,
        Record::NewCpuId { cpu, tsc } => Record::NewCpuId { cpu, tsc },
        Record::TscWrap { tsc } => Record::TscWrap { tsc },
        Record::WallClock(time) => Record::WallClock(time),
        Record::CallArgument { value } => Record::CallArgument { value },
        Record::BufferExtents { size } => Record::BufferExtents { size },
        Record::Pid { pid } => Record::Pid { pid },
    }
}

/// Reads a log in pieces of `size` bytes; returns the records and the errors.
pub(crate) fn items(log: &[u8], size: usize) -> (Vec<OwnedItem>, Vec<String>) {
    items_with(log, size, Limits::default())
}

pub(crate) fn items_with(log: &[u8], size: usize, limits: Limits) -> (Vec<OwnedItem>, Vec<String>) {
    let mut decoder = Decoder::with_limits(limits);
    let mut found = (Vec::new(), Vec::new());
    for piece in log.chunks(size) {
        decoder.push(piece);
        drain(&mut decoder, &mut found);
    }
    decoder.finish();
    drain(&mut decoder, &mut found);
    let stats = decoder.stats();
    assert_eq!((stats.records, stats.errors), (found.0.len() as u64, found.1.len() as u64));
    found
}

fn drain(decoder: &mut Decoder, found: &mut (Vec<OwnedItem>, Vec<String>)) {
    loop {
        match decoder.next() {
            Ok(Some(item)) => found.0.push(item.into()),
            Ok(None) => return,
            Err(error) => found.1.push(format!("{error:?}")),
        }
    }
}

pub(crate) fn header(format: Format, buffer_size: u64) -> Vec<u8> {
    let header = Header {
        format,
        constant_tsc: true,
        nonstop_tsc: true,
        cycle_frequency: 1_000_000_000,
        buffer_size,
        map_id: 0,
    };
    encode::header(&header).to_vec()
}

/// A log that is built record by record.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
    pub(crate) records: Vec<Owned>,
    pub(crate) offsets: Vec<u64>,
}

impl Made {
    pub(crate) fn new(format: Format, buffer_size: u64) -> Self {
        let bytes = header(format, buffer_size);
        Self { format, bytes, records: Vec::new(), offsets: Vec::new() }
    }

    /// Adds a thread buffer, with the first or last record that the version requires.
    pub(crate) fn buffer(&mut self, content: impl FnOnce(&mut Self)) {
        if !self.format.version.has_extents() {
            content(self);
            self.put(Record::EndOfBuffer);
            return;
        }
        let start = self.bytes.len();
        let at = self.records.len();
        self.put(Record::BufferExtents { size: 0 });
        content(self);
        let extents = Record::BufferExtents { size: (self.bytes.len() - start - 16) as u64 };
        let mut encoded = Vec::new();
        encode::record(&mut encoded, &extents, self.format).unwrap();
        self.bytes[start..start + 16].copy_from_slice(&encoded);
        self.records[at] = extents;
    }

    /// Adds the start of a thread buffer, at CPU 1 and tick 1000.
    pub(crate) fn start(&mut self, process: i32, thread: i32) {
        self.put(Record::NewBuffer { thread });
        self.put(Record::WallClock(WallClock { seconds: 12, micros: 345_678 }));
        if self.format.version >= Version::V3 {
            self.put(Record::Pid { pid: process });
        }
        self.put(Record::NewCpuId { cpu: 1, tsc: 1000 });
    }

    pub(crate) fn function(&mut self, action: Action, function: u32, delta: u32) {
        let function = FunctionId::new(function).unwrap();
        self.put(Record::Function(FunctionRecord { action, function, delta }));
    }

    pub(crate) fn put(&mut self, record: Record<'_>) {
        self.offsets.push(self.bytes.len() as u64);
        self.records.push(owned(&record));
        encode::record(&mut self.bytes, &record, self.format).unwrap();
    }

    /// Adds a record that the reader is not expected to return.
    pub(crate) fn put_unchecked(&mut self, record: Record<'_>) {
        encode::record(&mut self.bytes, &record, self.format).unwrap();
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds another log, with its header.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.append(other, 0);
    }

    /// Adds the thread buffers of another log.
    pub(crate) fn extend_buffers(&mut self, other: &Self) {
        self.append(other, 32);
    }

    fn append(&mut self, other: &Self, from: usize) {
        let shift = self.bytes.len() as u64 - from as u64;
        self.offsets.extend(other.offsets.iter().map(|offset| offset + shift));
        self.records.extend(other.records.iter().copied());
        self.bytes.extend_from_slice(&other.bytes[from..]);
    }
}
