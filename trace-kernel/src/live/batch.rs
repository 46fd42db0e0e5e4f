//! Events of all CPUs in the order of time.
//!
//! The events of a CPU are in the order of time, so the CPUs are merged. A page is parsed while its
//! events are visited: an event stays in its page until it is the next one of all CPUs.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};

use rustix::io::Errno;

use super::clock::TraceClock;
use crate::page::{Events, Missed, PageError, PageLayout, Position, RawEvent};

/// The events of one CPU.
#[derive(Debug)]
pub(super) struct Stream {
    /// The file `trace_pipe_raw`, which does not wait for events.
    file: File,
    cpu: u16,
    layout: PageLayout,
    clock: TraceClock,
    /// The page of the next event.
    page: Box<[u8]>,
    /// The end of its events.
    end: usize,
    /// The place behind the next event.
    position: Position,
    next: Option<Head>,
    /// The pages behind it, each with its bytes.
    pages: VecDeque<(Box<[u8]>, usize)>,
    /// Memory for other pages.
    free: Vec<Box<[u8]>>,
    /// Whether the kernel may have more pages.
    has_more: bool,
    /// The ticks of the last event that has been visited.
    last: u64,
    /// Events that are missing after it.
    missed: Missed,
    /// The first malformed page.
    fault: Option<PageError>,
}

/// What was read of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pages {
    pub(super) number: usize,
    /// Whether the kernel may have more.
    pub(super) has_more: bool,
}

/// An event.
#[derive(Debug)]
struct Head {
    ticks: u64,
    /// Where its payload begins and ends, in bytes from the start of the page.
    start: usize,
    end: usize,
    id: u16,
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

impl Stream {
    pub(super) fn new(file: File, cpu: u16, layout: PageLayout) -> Self {
        let (page, end, position) = Default::default();
        let (next, pages, free, has_more, last, fault) = Default::default();
        let (clock, missed) = (TraceClock::Same, Missed::None);
        Self {
            file,
            cpu,
            layout,
            clock,
            page,
            end,
            position,
            next,
            pages,
            free,
            has_more,
            last,
            missed,
            fault,
        }
    }

    pub(super) fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Returns the events that are missing after the last event.
    pub(super) fn loss(&self) -> Option<Loss> {
        let loss = Loss { missed: self.missed, since: self.last };
        (self.missed != Missed::None).then_some(loss)
    }

    /// Returns the first malformed page since the last call. Its events before the malformed one
    /// have been visited.
    pub(super) fn take_fault(&mut self) -> Option<PageError> {
        self.fault.take()
    }

    /// Reads pages of `limit` bytes, with those that wait for the events of other CPUs, and at
    /// least one, if there are so many and none waits.
    ///
    /// The kernel's buffer keeps the others. Without the limit, all pages of a program that has
    /// moved to another CPU would be read while those of the first one are visited, and their
    /// records would not fit into the provider's buffer at once.
    ///
    /// # Errors
    ///
    /// Reading failed.
    pub(super) fn read(&mut self, limit: usize, clock: &TraceClock) -> io::Result<Pages> {
        (self.clock, self.has_more) = (*clock, false);
        let mut bytes: usize = self.pages.iter().map(|(_, length)| length).sum();
        let mut number = 0;
        while bytes < limit {
            match self.read_page()? {
                0 => return Ok(Pages { number, has_more: false }),
                length => (bytes, number) = (bytes + length, number + 1),
            }
        }
        self.has_more = true;
        Ok(Pages { number, has_more: true })
    }

    /// Reads a page. Returns its bytes, or 0 if there is none.
    fn read_page(&mut self) -> io::Result<usize> {
        let new = || vec![0; self.layout.page_size].into_boxed_slice();
        let mut page = self.free.pop().unwrap_or_else(new);
        let length = available(self.file.read(&mut page))?;
        match length {
            0 => self.free.push(page),
            _ => self.pages.push_back((page, length)),
        }
        Ok(length)
    }

    /// Discards the events that have not been visited. Returns their number.
    pub(super) fn discard(&mut self) -> u64 {
        let mut discarded = 0;
        while self.next_ticks().is_some() {
            self.next = None;
            discarded += 1;
        }
        discarded
    }

    /// Returns the ticks of the next event in the pages.
    fn next_ticks(&mut self) -> Option<u64> {
        while self.next.is_none() && (self.advance() || self.turn()) {}
        self.next.as_ref().map(|next| next.ticks)
    }

    /// Calls `visit` with the events before the ticks `end`.
    fn visit(&mut self, end: u64, visit: &mut impl FnMut(BatchEvent<'_>)) {
        while let Some(Head { ticks, start, end, id }) = self.next.take_if(|it| it.ticks < end) {
            let payload = self.page.get(start..end).unwrap_or_default();
            let raw = RawEvent { time: ticks, id, payload, offset: 0 };
            let loss = self.loss();
            visit(BatchEvent { cpu: self.cpu, raw, loss });
            (self.missed, self.last) = (Missed::None, ticks);
            if !self.advance() {
                self.next_ticks();
            }
        }
    }

    /// Parses the next event of the page. Returns whether there is one.
    #[inline]
    fn advance(&mut self) -> bool {
        let bytes = self.page.get(..self.end).unwrap_or_default();
        let mut events = Events::new(bytes, self.position, self.layout.order);
        let event = events.next();
        self.position = events.position();
        let end = self.position.offset;
        match event {
            Some(Ok(RawEvent { time, id, payload, .. })) => {
                let (ticks, start) = (self.clock.ticks(time), end - payload.len());
                self.next = Some(Head { ticks, start, end, id });
                return true;
            }
            Some(Err(fault)) => _ = self.fault.get_or_insert(fault),
            None => {}
        }
        false
    }

    /// Continues with the next page. Returns whether there is one.
    #[cold]
    fn turn(&mut self) -> bool {
        let (page, length) = self.pages.pop_front().unwrap_or_default();
        let is_page = length > 0;
        let before = std::mem::replace(&mut self.page, page);
        if !before.is_empty() {
            self.free.push(before);
        }
        (self.end, self.position) = Default::default();
        match self.layout.parse(self.page.get(..length).unwrap_or_default()) {
            Ok(page) => {
                self.missed = self.missed.and(page.missed);
                (self.end, self.position) = (page.end(), page.start());
            }
            Err(fault) if is_page => _ = self.fault.get_or_insert(fault),
            Err(_) => {}
        }
        is_page
    }
}

/// Returns the bytes of a page, 0 if there is none. A CPU that has not been online since the
/// instance was created has no buffer (`ENODEV`), and gets one when it comes online.
fn available(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::AGAIN | Errno::NODEV)) => {
            Ok(0)
        }
        read => read,
    }
}

/// Calls `visit` with the events of all CPUs before the ticks `end`, in the order of time. The
/// others stay, and so do the events after those of a CPU that may have more pages. Returns the
/// ticks before which all have been visited.
pub(super) fn drain(
    streams: &mut [Stream],
    end: u64,
    mut visit: impl FnMut(BatchEvent<'_>),
) -> u64 {
    let mut end = end;
    let mut next = Vec::with_capacity(streams.len());
    for (index, stream) in streams.iter_mut().enumerate() {
        match stream.next_ticks() {
            Some(ticks) => next.push((ticks, index)),
            None if stream.has_more => end = end.min(stream.last),
            None => {}
        }
    }
    next.sort_unstable();
    while let Some((ticks, index)) = next.first().copied() {
        let Some(stream) = streams.get_mut(index).filter(|_| ticks < end) else { break };
        // Of events at the same time, that of the first CPU is the first.
        let until = |other: &(u64, usize)| other.0.saturating_add(u64::from(index < other.1));
        stream.visit(next.get(1).map_or(end, until).min(end), &mut visit);
        match stream.next_ticks() {
            Some(ticks) => move_first(&mut next, ticks),
            None => {
                next.remove(0);
                if stream.has_more {
                    end = end.min(stream.last);
                }
            }
        }
    }
    streams.iter_mut().for_each(|stream| stream.has_more = false);
    end
}

/// Sets the time of the first stream of a sorted list, and moves it to its place.
fn move_first(list: &mut [(u64, usize)], ticks: u64) {
    let [first, others @ ..] = list else { return };
    let mut place = first;
    place.0 = ticks;
    for next in others {
        if *place <= *next {
            return;
        }
        std::mem::swap(place, next);
        place = next;
    }
}

#[cfg(test)]
mod tests;
