//! Events of all CPUs in the order of time.
//!
//! The events of a CPU are in the order of time, so the CPUs are merged. Pages stay where they were
//! read until the last of their events has been visited.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use super::clock::TraceClock;
use crate::page::{Missed, PageError, PageLayout, RawEvent};

/// The events of one CPU.
#[derive(Debug)]
pub(super) struct Stream {
    /// The file `trace_pipe_raw`, which does not wait for events.
    file: File,
    cpu: u16,
    /// The ticks of its last event.
    last: u64,
    /// Events that are missing before its next event.
    missed: Missed,
    pages: Pages,
    /// The events that have not been visited.
    heads: VecDeque<Head>,
    /// The losses before them.
    losses: VecDeque<Loss>,
}

/// Pages of one CPU, one after the other.
#[derive(Debug, Default)]
struct Pages {
    bytes: Vec<u8>,
    /// The bytes in use. The others are free.
    used: usize,
    /// The bytes of pages that were removed before the first one.
    removed: u64,
}

/// An event.
#[derive(Debug)]
struct Head {
    ticks: u64,
    /// Where its payload begins, in bytes since the first page that was read.
    start: u64,
    length: u32,
    id: u16,
    /// Whether a loss is before it.
    has_loss: bool,
}

/// Events that are missing before an event on its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) missed: Missed,
    /// The ticks of the event before; 0 if there is none.
    pub(super) since: u64,
}

/// An event with its CPU and the events that are missing before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchEvent<'a> {
    pub(super) cpu: u16,
    pub(super) raw: RawEvent<'a>,
    pub(super) loss: Option<Loss>,
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
    pub(super) fn new(file: File, cpu: u16) -> Self {
        let (pages, heads, losses) = Default::default();
        Self { file, cpu, last: 0, missed: Missed::None, pages, heads, losses }
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

    /// Reads a page and adds its events. Returns its bytes, or 0 if there is none.
    ///
    /// # Errors
    ///
    /// Reading failed, or the page is malformed. Its events before the malformed one are added.
    pub(super) fn read(
        &mut self,
        layout: &PageLayout,
        clock: &TraceClock,
    ) -> Result<usize, BatchError> {
        let page = self.pages.free(layout.page_size);
        let length = match self.file.read(page) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(BatchError::Read(error)),
        };
        if length > 0 {
            self.add(length, layout, clock).map_err(BatchError::Page)?;
        }
        Ok(length)
    }

    /// Adds the events of the page that the next `length` bytes are.
    fn add(
        &mut self,
        length: usize,
        layout: &PageLayout,
        clock: &TraceClock,
    ) -> Result<(), PageError> {
        let Self { pages, heads, losses, last, missed, .. } = self;
        let (place, bytes) = pages.add(length);
        let page = layout.parse(bytes)?;
        *missed = missed.and(page.missed);
        let mut events = page.events();
        while let Some(event) = events.next().transpose()? {
            let end = events.position().offset;
            let (start, length) = (place + (end - event.payload.len()) as u64, event.payload.len());
            let (ticks, has_loss) = (clock.ticks(event.time), *missed != Missed::None);
            if has_loss {
                losses.push_back(Loss { missed: *missed, since: *last });
            }
            (*missed, *last) = (Missed::None, ticks);
            // A page has at most 16 MiB.
            let length = length as u32;
            heads.push_back(Head { ticks, start, length, id: event.id, has_loss });
        }
        Ok(())
    }

    /// Calls `visit` with the next event. Returns the ticks of the one behind it.
    fn visit(&mut self, visit: &mut impl FnMut(BatchEvent<'_>)) -> Option<u64> {
        let Head { ticks, start, length, id, has_loss } = self.heads.pop_front()?;
        let payload = self.pages.get(start, length);
        let raw = RawEvent { time: ticks, id, payload, offset: 0 };
        let loss = if has_loss { self.losses.pop_front() } else { None };
        visit(BatchEvent { cpu: self.cpu, raw, loss });
        self.next_ticks()
    }

    /// Returns the ticks of the next event.
    fn next_ticks(&self) -> Option<u64> {
        self.heads.front().map(|head| head.ticks)
    }
}

impl Pages {
    /// Returns free memory of `size` bytes.
    fn free(&mut self, size: usize) -> &mut [u8] {
        let end = self.used + size;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes.get_mut(self.used..end).unwrap_or_default()
    }

    /// Adds the first `length` bytes of the free memory. Returns their place, and the bytes.
    fn add(&mut self, length: usize) -> (u64, &[u8]) {
        let start = self.used;
        self.used += length;
        let bytes = self.bytes.get(start..self.used).unwrap_or_default();
        (self.removed + start as u64, bytes)
    }

    fn get(&self, start: u64, length: u32) -> &[u8] {
        let start = (start - self.removed) as usize;
        self.bytes.get(start..start + length as usize).unwrap_or_default()
    }

    /// Removes the bytes before a place.
    fn remove(&mut self, end: u64) {
        let removed = (end - self.removed) as usize;
        if removed == 0 {
            return;
        }
        self.bytes.copy_within(removed..self.used, 0);
        (self.removed, self.used) = (end, self.used - removed);
    }

    /// Removes all bytes.
    fn clear(&mut self) {
        self.removed += self.used as u64;
        self.used = 0;
    }
}

/// Calls `visit` with the events of all CPUs before the ticks `end`, in the order of time. The
/// others stay.
pub(super) fn drain(streams: &mut [Stream], end: u64, mut visit: impl FnMut(BatchEvent<'_>)) {
    let next = streams.iter().enumerate();
    let next = next.filter_map(|(index, stream)| Some(Reverse((stream.next_ticks()?, index))));
    let mut next: BinaryHeap<_> = next.collect();
    while let Some(mut first) = next.peek_mut() {
        let Reverse((ticks, index)) = *first;
        let Some(stream) = streams.get_mut(index).filter(|_| ticks < end) else { break };
        match stream.visit(&mut visit) {
            Some(ticks) => *first = Reverse((ticks, index)),
            None => drop(PeekMut::pop(first)),
        }
    }
    for stream in streams {
        match stream.heads.front() {
            Some(head) => stream.pages.remove(head.start),
            None => stream.pages.clear(),
        }
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

#[cfg(test)]
mod tests;
