//! A log that is written to an output.

use std::io::Write;
use std::time::Duration;

use super::{encode, Buffer, Stamp, WriteError, MIN_BUFFER_BYTES};
use crate::layout::Action;
use crate::record::{FunctionId, Header, WallClock};

/// A moment in ticks and in wall-clock time.
///
/// The wall clock is the caller's choice. LLVM's runtime uses `CLOCK_MONOTONIC`; its tools only
/// compare the times of one log with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The time in ticks.
    pub tsc: u64,
    /// The wall-clock time.
    pub time: Duration,
}

/// Writes a log to `W`.
///
/// The records of a thread go into its [`Buffer`], which is written when it is full. Put a
/// [`BufWriter`](std::io::BufWriter) around a file only if thread buffers are small.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use trace_xray::layout::{Action, Version};
/// use trace_xray::write::{Anchor, Log, Stamp};
/// use trace_xray::{Format, FunctionId, Header};
///
/// let header = Header {
///     format: Format::little(Version::V5),
///     constant_tsc: true,
///     nonstop_tsc: true,
///     cycle_frequency: 2_000_000_000,
///     buffer_size: 16 << 10,
///     map_id: 0,
/// };
/// let anchor = Anchor { tsc: 1_000, time: Duration::from_secs(7) };
/// let mut log = Log::new(Vec::new(), header, anchor)?;
/// let mut thread = log.thread(4711, 4712);
/// let function = FunctionId::new(1).unwrap();
/// log.function(&mut thread, Stamp { tsc: 1_000, cpu: 0 }, Action::Entry, function)?;
/// log.function(&mut thread, Stamp { tsc: 1_500, cpu: 0 }, Action::Exit, function)?;
/// log.write(&mut thread)?;
/// let bytes: Vec<u8> = log.into_inner();
/// # assert_eq!(bytes.len(), 32 + 5 * 16 + 2 * 8);
/// # Ok::<(), trace_xray::write::WriteError>(())
/// ```
#[derive(Debug)]
pub struct Log<W> {
    output: W,
    header: Header,
    anchor: Anchor,
}

impl<W: Write> Log<W> {
    /// Writes the header of a log.
    ///
    /// # Errors
    ///
    /// Thread buffers are smaller than [`MIN_BUFFER_BYTES`], or writing fails.
    pub fn new(mut output: W, header: Header, anchor: Anchor) -> Result<Self, WriteError> {
        let size = header.buffer_size;
        if size < MIN_BUFFER_BYTES {
            return Err(WriteError::BufferSize { size });
        }
        output.write_all(&encode::header(&header))?;
        Ok(Self { output, header, anchor })
    }

    /// Returns an empty buffer for a thread.
    #[must_use]
    pub fn thread(&self, process: i32, thread: i32) -> Buffer {
        Buffer::new(&self.header, process, thread)
    }

    /// Adds a function record to a thread's buffer, which is written if it is full.
    ///
    /// # Errors
    ///
    /// The id of the function is 0, or writing fails.
    pub fn function(
        &mut self,
        thread: &mut Buffer,
        at: Stamp,
        action: Action,
        function: FunctionId,
    ) -> Result<(), WriteError> {
        self.add(thread, at, |buffer, time| buffer.function(at, action, function, time))
    }

    /// Adds a function entry with its arguments, starting with the first.
    ///
    /// # Errors
    ///
    /// The id of the function is 0, the record is larger than a thread buffer, or writing fails.
    pub fn entry_with_arguments(
        &mut self,
        thread: &mut Buffer,
        at: Stamp,
        function: FunctionId,
        arguments: &[u64],
    ) -> Result<(), WriteError> {
        self.add(thread, at, |buffer, time| {
            buffer.entry_with_arguments(at, function, arguments, time)
        })
    }

    /// Adds the CPU of a thread from a time on, if it is another one than before.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn cpu(&mut self, thread: &mut Buffer, at: Stamp) -> Result<(), WriteError> {
        self.add(thread, at, |buffer, time| buffer.cpu(at, time))
    }

    /// Adds a custom event.
    ///
    /// # Errors
    ///
    /// The payload is empty, the event is larger than a thread buffer, or writing fails.
    pub fn custom_event(
        &mut self,
        thread: &mut Buffer,
        at: Stamp,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        self.add(thread, at, |buffer, time| buffer.custom_event(at, payload, time))
    }

    /// Adds a typed event, in version 5.
    ///
    /// # Errors
    ///
    /// The payload is empty, the event is larger than a thread buffer, the log has another version,
    /// or writing fails.
    pub fn typed_event(
        &mut self,
        thread: &mut Buffer,
        at: Stamp,
        event_type: u16,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        self.add(thread, at, |buffer, time| buffer.typed_event(at, event_type, payload, time))
    }

    /// Writes a thread's buffer, unless it is empty. The buffer can be reused afterwards.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn write(&mut self, thread: &mut Buffer) -> Result<(), WriteError> {
        if !thread.is_empty() {
            self.output.write_all(&thread.finish()?)?;
        }
        Ok(())
    }

    /// Returns the output. It lacks buffers that were not written.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.output
    }

    fn add(
        &mut self,
        thread: &mut Buffer,
        at: Stamp,
        add: impl Fn(&mut Buffer, &dyn Fn() -> WallClock) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let time = || self.wall_clock(at.tsc);
        match add(thread, &time) {
            Err(WriteError::Full) => {}
            result => return result,
        }
        self.write(thread)?;
        add(thread, &|| self.wall_clock(at.tsc))
    }

    /// Returns the wall-clock time of a time in ticks.
    fn wall_clock(&self, tsc: u64) -> WallClock {
        let frequency = u128::from(self.header.cycle_frequency.max(1));
        let nanos = |ticks: u64| {
            let nanos = u128::from(ticks) * 1_000_000_000 / frequency;
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let Anchor { tsc: anchor, time } = self.anchor;
        let time = match tsc.checked_sub(anchor) {
            Some(ticks) => time.saturating_add(nanos(ticks)),
            None => time.saturating_sub(nanos(anchor - tsc)),
        };
        time.into()
    }
}
