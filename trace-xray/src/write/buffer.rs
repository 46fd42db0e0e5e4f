//! A thread buffer in memory.

use super::{encode, WriteError};
use crate::layout::{
    Action, Version, FILLER, FUNCTION_BYTES, MAX_DELTA, MAX_PAYLOAD_BYTES, METADATA_BYTES,
};
use crate::record::{
    CustomEvent, EventTime, Format, FunctionId, FunctionRecord, Header, Record, TypedEvent,
    WallClock,
};

/// The time and CPU of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The time in ticks.
    pub tsc: u64,
    /// The CPU's number.
    pub cpu: u16,
}

/// A thread buffer that is being filled.
///
/// It has a fixed size, and does no I/O. A [`Log`](super::Log) writes it when it is full.
#[derive(Debug)]
pub struct Buffer {
    format: Format,
    /// The size, including the EndOfBuffer record of version 1, and excluding the BufferExtents
    /// record.
    size: usize,
    process: i32,
    thread: i32,
    bytes: Vec<u8>,
    /// The last time and CPU, `None` before the first record.
    last: Option<Stamp>,
}

impl Buffer {
    /// Creates a buffer for a thread of a process, of the size in the header.
    #[must_use]
    pub fn new(header: &Header, process: i32, thread: i32) -> Self {
        let size = usize::try_from(header.buffer_size).unwrap_or(usize::MAX);
        Self { format: header.format, size, process, thread, bytes: Vec::new(), last: None }
    }

    /// Returns whether the buffer has no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Adds a function record.
    ///
    /// `wall_clock` is the wall-clock time of the stamp. It is called if the buffer is empty.
    ///
    /// # Errors
    ///
    /// The buffer is full, or the id of the function is 0.
    pub fn function(
        &mut self,
        at: Stamp,
        action: Action,
        function: FunctionId,
        wall_clock: impl FnOnce() -> WallClock,
    ) -> Result<(), WriteError> {
        check_function(function)?;
        self.make_room(at, FUNCTION_BYTES, wall_clock)?;
        let delta = self.advance(at);
        let record = FunctionRecord { action, function, delta: delta as u32 };
        self.bytes.extend_from_slice(&encode::function(&record, self.format.order));
        Ok(())
    }

    /// Adds a function entry with its arguments, starting with the first. Without arguments it is a
    /// plain entry.
    ///
    /// # Errors
    ///
    /// The buffer is full, or smaller than the record; or the id of the function is 0.
    pub fn entry_with_arguments(
        &mut self,
        at: Stamp,
        function: FunctionId,
        arguments: &[u64],
        wall_clock: impl FnOnce() -> WallClock,
    ) -> Result<(), WriteError> {
        check_function(function)?;
        let size = FUNCTION_BYTES + arguments.len().saturating_mul(METADATA_BYTES);
        self.make_room(at, size, wall_clock)?;
        let action = if arguments.is_empty() { Action::Entry } else { Action::EntryArgs };
        self.function(at, action, function, WallClock::default)?;
        for value in arguments {
            self.put(&Record::CallArgument { value: *value })?;
        }
        Ok(())
    }

    /// Adds the thread's CPU from a time on, if it is another one than before.
    ///
    /// # Errors
    ///
    /// The buffer is full.
    pub fn cpu(
        &mut self,
        at: Stamp,
        wall_clock: impl FnOnce() -> WallClock,
    ) -> Result<(), WriteError> {
        match self.last {
            Some(last) if last.cpu == at.cpu => Ok(()),
            _ => self.make_room(at, 0, wall_clock),
        }
    }

    /// Adds a custom event.
    ///
    /// # Errors
    ///
    /// The buffer is full, or smaller than the event; or the payload is empty.
    pub fn custom_event(
        &mut self,
        at: Stamp,
        payload: &[u8],
        wall_clock: impl FnOnce() -> WallClock,
    ) -> Result<(), WriteError> {
        check_payload(payload)?;
        self.make_room(at, METADATA_BYTES + payload.len(), wall_clock)?;
        let time = self.event_time(at);
        self.put(&Record::CustomEvent(CustomEvent { time, payload }))
    }

    /// Adds a typed event, in version 5.
    ///
    /// # Errors
    ///
    /// The buffer is full, or smaller than the event; the payload is empty; or the version has no
    /// typed events.
    pub fn typed_event(
        &mut self,
        at: Stamp,
        event_type: u16,
        payload: &[u8],
        wall_clock: impl FnOnce() -> WallClock,
    ) -> Result<(), WriteError> {
        encode::check(&typed(event_type, 0, payload), self.format.version)?;
        self.make_room(at, METADATA_BYTES + payload.len(), wall_clock)?;
        let delta = self.advance(at) as i32;
        self.put(&typed(event_type, delta, payload))
    }

    /// Ends the buffer, and returns its bytes for the log. The buffer is empty afterwards.
    ///
    /// # Errors
    ///
    /// None in practice: all records are of the log's version.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, WriteError> {
        if self.format.version.has_extents() {
            let size = self.bytes.len() as u64;
            let mut bytes = Vec::with_capacity(METADATA_BYTES + self.bytes.len());
            encode::record(&mut bytes, &Record::BufferExtents { size }, self.format)?;
            bytes.append(&mut self.bytes);
            self.last = None;
            return Ok(bytes);
        }
        self.fill()?;
        self.put(&Record::EndOfBuffer)?;
        self.last = None;
        Ok(std::mem::take(&mut self.bytes))
    }

    fn put(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        Ok(encode::record(&mut self.bytes, record, self.format)?)
    }

    /// Writes the records that have to precede a record of `size` bytes, if all of them fit.
    fn make_room(
        &mut self,
        at: Stamp,
        size: usize,
        wall_clock: impl FnOnce() -> WallClock,
    ) -> Result<(), WriteError> {
        let base = self.base(at);
        let extra = if base.is_some() { METADATA_BYTES } else { 0 };
        let start = if self.is_empty() { self.start_bytes() } else { 0 };
        if !self.fits(self.bytes.len() + start + extra + size) {
            return Err(self.full(size));
        }
        if start > 0 {
            self.start(wall_clock())?;
        }
        if let Some(base) = base {
            self.put(&base)?;
            self.last = Some(at);
        }
        Ok(())
    }

    /// Returns the record that must precede one at `at`: for another CPU, or for a time beyond the
    /// range of a delta.
    fn base(&self, Stamp { tsc, cpu }: Stamp) -> Option<Record<'static>> {
        match self.last {
            Some(last) if last.cpu == cpu => {
                let reaches = tsc.checked_sub(last.tsc).is_some_and(|delta| delta <= MAX_DELTA);
                (!reaches).then_some(Record::TscWrap { tsc })
            }
            _ => Some(Record::NewCpuId { cpu, tsc }),
        }
    }

    fn start_bytes(&self) -> usize {
        let records = if self.has_pid() { 3 } else { 2 };
        records * METADATA_BYTES
    }

    fn has_pid(&self) -> bool {
        self.format.version >= Version::V3
    }

    fn start(&mut self, wall_clock: WallClock) -> Result<(), WriteError> {
        self.put(&Record::NewBuffer { thread: self.thread })?;
        self.put(&Record::WallClock(wall_clock))?;
        if self.has_pid() {
            self.put(&Record::Pid { pid: self.process })?;
        }
        Ok(())
    }

    /// Returns the delta of a record at `at`, which [`make_room`](Self::make_room) has prepared.
    fn advance(&mut self, at: Stamp) -> u64 {
        let last = self.last.replace(at).unwrap_or(at);
        at.tsc.wrapping_sub(last.tsc)
    }

    fn event_time(&mut self, at: Stamp) -> EventTime {
        match self.format.version {
            Version::V5 => EventTime::Delta(self.advance(at) as i32),
            Version::V4 => EventTime::Absolute { tsc: at.tsc, cpu: Some(at.cpu) },
            _ => EventTime::Absolute { tsc: at.tsc, cpu: None },
        }
    }

    /// Returns whether the buffer has room for `size` bytes of records.
    fn fits(&self, size: usize) -> bool {
        if self.format.version.has_extents() {
            return size <= self.size;
        }
        let left = self.size.checked_sub(size + METADATA_BYTES);
        left.is_some_and(|left| left % METADATA_BYTES == 0 || left >= MIN_FILLER_BYTES)
    }

    fn full(&self, size: usize) -> WriteError {
        let least = self.start_bytes() + METADATA_BYTES + size;
        if self.fits(least) {
            WriteError::Full
        } else {
            WriteError::TooLarge { size }
        }
    }

    /// Fills the buffer of version 1, up to its EndOfBuffer record.
    fn fill(&mut self) -> Result<(), WriteError> {
        let tsc = self.last.map_or(0, |last| last.tsc);
        let odd = self.space() % METADATA_BYTES;
        if odd > 0 {
            let size = if odd < FILLER.len() { odd + METADATA_BYTES } else { odd };
            let mut payload = FILLER.to_vec();
            payload.resize(size, 0);
            let time = EventTime::Absolute { tsc, cpu: None };
            self.put(&Record::CustomEvent(CustomEvent { time, payload: &payload }))?;
        }
        while self.space() > 0 {
            self.put(&Record::TscWrap { tsc })?;
        }
        Ok(())
    }

    /// Returns the number of bytes before the EndOfBuffer record.
    fn space(&self) -> usize {
        self.size.saturating_sub(METADATA_BYTES + self.bytes.len())
    }
}

/// The smallest space that fillers can fill in any case: a custom event with the longest odd
/// payload.
const MIN_FILLER_BYTES: usize = METADATA_BYTES + FILLER.len() + METADATA_BYTES;

fn typed(event_type: u16, delta: i32, payload: &[u8]) -> Record<'_> {
    Record::TypedEvent(TypedEvent { delta, event_type, payload })
}

fn check_function(function: FunctionId) -> Result<(), WriteError> {
    match function.number() {
        0 => Err(encode::EncodeError::NoFunction.into()),
        _ => Ok(()),
    }
}

fn check_payload(payload: &[u8]) -> Result<(), WriteError> {
    let size = payload.len();
    if size == 0 || size > MAX_PAYLOAD_BYTES {
        return Err(encode::EncodeError::PayloadSize { size }.into());
    }
    Ok(())
}
