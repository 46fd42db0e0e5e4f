//! Events of all CPUs in the order of time.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

use super::clock::TraceClock;
use crate::page::{Missed, PageError, PageLayout, RawEvent};

/// Pages of all CPUs, and the events in them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// The bytes that pages and payloads use. The others are free.
    used: usize,
    heads: Vec<Head>,
}

/// An event of a batch.
#[derive(Debug)]
struct Head {
    ticks: u64,
    cpu: u16,
    id: u16,
    payload: Range<usize>,
    loss: Option<Box<Loss>>,
}

/// Events that are missing before an event on its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) missed: Missed,
    /// The ticks of the event before; 0 if there is none.
    pub(super) since: u64,
}

/// An event of a batch, with its CPU and the events that are missing before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchEvent<'a> {
    pub(super) cpu: u16,
    pub(super) raw: RawEvent<'a>,
    pub(super) loss: Option<Loss>,
}

/// The events of one CPU.
#[derive(Debug)]
pub(super) struct Stream {
    /// The file `trace_pipe_raw`, which does not wait for events.
    pages: File,
    cpu: u16,
    /// The ticks of its last event.
    last: u64,
    /// Events that are missing before its next event.
    missed: Missed,
}

/// Why a page cannot be added.
#[derive(Debug)]
pub(super) enum BatchError {
    /// It cannot be read.
    Read(io::Error),
    /// It is malformed.
    Page(PageError),
}

impl Stream {
    pub(super) fn new(pages: File, cpu: u16) -> Self {
        Self { pages, cpu, last: 0, missed: Missed::None }
    }

    pub(super) fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Returns the ticks of the last event.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the events that are missing after the last event.
    pub(super) fn loss(&self) -> Option<Loss> {
        let loss = Loss { missed: self.missed, since: self.last };
        (self.missed != Missed::None).then_some(loss)
    }
}

impl Batch {
    /// Returns the number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.used
    }

    /// Reads a page of a CPU and adds its events. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// Reading failed, or the page is malformed. Its events before the malformed one are added.
    pub(super) fn read(
        &mut self,
        layout: &PageLayout,
        stream: &mut Stream,
        clock: &TraceClock,
    ) -> Result<bool, BatchError> {
        let start = self.used;
        let end = start + layout.page_size;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let page = self.bytes.get_mut(start..end).unwrap_or_default();
        let length = match stream.pages.read(page) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(BatchError::Read(error)),
        };
        self.used += length;
        self.add(start, layout, stream, clock).map_err(BatchError::Page)?;
        Ok(true)
    }

    /// Adds the events of the page that begins at `start`.
    fn add(
        &mut self,
        start: usize,
        layout: &PageLayout,
        stream: &mut Stream,
        clock: &TraceClock,
    ) -> Result<(), PageError> {
        let page = layout.parse(self.bytes.get(start..self.used).unwrap_or_default())?;
        stream.missed = stream.missed.and(page.missed);
        let mut events = page.events();
        while let Some(event) = events.next().transpose()? {
            let end = start + events.position().offset;
            let payload = end - event.payload.len()..end;
            let ticks = clock.ticks(event.time);
            let loss = stream.loss().map(Box::new);
            (stream.missed, stream.last) = (Missed::None, ticks);
            self.heads.push(Head { ticks, cpu: stream.cpu, id: event.id, payload, loss });
        }
        Ok(())
    }

    /// Calls `visit` with the events before the ticks `end`, in the order of time. The others stay.
    pub(super) fn drain(&mut self, end: u64, mut visit: impl FnMut(BatchEvent<'_>)) {
        // The events of a page are in the order of time, which makes sorting fast.
        self.heads.sort_by_key(|head| head.ticks);
        let number = self.heads.partition_point(|head| head.ticks < end);
        for head in self.heads.drain(..number) {
            let payload = self.bytes.get(head.payload).unwrap_or_default();
            let raw = RawEvent { time: head.ticks, id: head.id, payload, offset: 0 };
            visit(BatchEvent { cpu: head.cpu, raw, loss: head.loss.map(|loss| *loss) });
        }
        self.compact();
    }

    /// Moves the payloads of the remaining events to the start.
    fn compact(&mut self) {
        let mut bytes = Vec::new();
        for head in &mut self.heads {
            let start = bytes.len();
            bytes.extend_from_slice(self.bytes.get(head.payload.clone()).unwrap_or_default());
            head.payload = start..bytes.len();
        }
        self.used = bytes.len();
        self.bytes.get_mut(..bytes.len()).unwrap_or_default().copy_from_slice(&bytes);
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{error}"),
            Self::Page(error) => write!(f, "{error}"),
        }
    }
}
