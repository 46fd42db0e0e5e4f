//! The pages of one CPU.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::compression::Compression;
use super::error::TraceDatError;
use super::fields::Fields;
use super::metadata::CpuData;
use crate::byte_order::ByteOrder;
use crate::page::{Missed, PageLayout, Position, RawEvent};

/// The most bytes of a group of pages. trace-cmd compresses ten pages at a time.
const MAX_GROUP: u64 = 16 << 20;

/// Reads the events of a CPU, one page after another.
#[derive(Debug)]
pub(super) struct CpuEvents {
    pub(super) cpu: u16,
    pages: Pages,
    layout: PageLayout,
    /// The current page, and where its next event is.
    page: Vec<u8>,
    position: Option<Position>,
    /// The event that is next.
    head: Option<Head>,
    /// Events that are missing before `head`, since the time of the event before.
    missed: (Missed, u64),
    /// The time of the last page.
    page_time: u64,
}

/// An event of the current page.
#[derive(Clone, Debug)]
struct Head {
    time: u64,
    id: u16,
    offset: usize,
    payload: Range<usize>,
}

impl CpuEvents {
    /// `layout` is that of the file, for buffers without a page size.
    pub(super) fn new(
        data: &CpuData,
        layout: PageLayout,
        compression: Compression,
    ) -> Result<Self, TraceDatError> {
        let page_size = data.page_size.unwrap_or(layout.page_size);
        let layout = PageLayout { page_size, ..layout };
        if !layout.is_possible() {
            return Err(TraceDatError::Malformed("buffer: page size"));
        }
        Ok(Self {
            cpu: data.cpu,
            pages: Pages::new(data, layout, compression),
            layout,
            page: Vec::new(),
            position: None,
            head: None,
            missed: (Missed::None, 0),
            page_time: 0,
        })
    }

    /// Returns how many bytes of pages are in memory.
    pub(super) fn memory(&self) -> usize {
        self.page.capacity() + self.pages.group.capacity()
    }

    /// Returns the event that is next, with events that are missing before it and since when.
    pub(super) fn head(&self) -> Option<(RawEvent<'_>, (Missed, u64))> {
        let Head { time, id, offset, payload } = self.head.clone()?;
        Some((RawEvent { time, id, payload: self.page.get(payload)?, offset }, self.missed))
    }

    /// Returns the events that are missing after the last event, and between which times.
    pub(super) fn missed_at_end(&self) -> (Missed, (u64, u64)) {
        let (missed, since) = self.missed;
        match self.head {
            None => (missed, (since, self.page_time.max(since))),
            Some(_) => (Missed::None, (since, since)),
        }
    }

    /// Frees the pages after an error.
    pub(super) fn clear(&mut self) {
        (self.page, self.pages.group) = (Vec::new(), Vec::new());
    }

    /// Moves to the next event, and returns its time.
    pub(super) fn advance<R: Read + Seek>(
        &mut self,
        input: &mut R,
    ) -> Result<Option<u64>, TraceDatError> {
        let last = self.head.take().map_or(0, |head| head.time);
        self.missed = (Missed::None, last);
        loop {
            if let Some(position) = self.position {
                if let Some(head) = self.next_of_page(position)? {
                    let time = head.time;
                    self.head = Some(head);
                    return Ok(Some(time));
                }
            }
            match self.pages.next(input)? {
                Some(page) => self.begin(page)?,
                None => {
                    self.clear();
                    return Ok(None);
                }
            }
        }
    }

    fn begin(&mut self, bytes: Vec<u8>) -> Result<(), TraceDatError> {
        let cpu = self.cpu;
        let page = self.layout.parse(&bytes).map_err(|error| TraceDatError::Page { cpu, error })?;
        self.missed.0 = self.missed.0.and(page.missed);
        self.page_time = page.time;
        self.position = Some(page.events().position());
        self.page = bytes;
        Ok(())
    }

    fn next_of_page(&mut self, position: Position) -> Result<Option<Head>, TraceDatError> {
        let error = |error| TraceDatError::Page { cpu: self.cpu, error };
        let mut events = self.layout.parse(&self.page).map_err(error)?.events_from(position);
        let event = events.next().transpose().map_err(error)?;
        let end = events.position();
        self.position = event.map(|_| end);
        Ok(event.map(|event| {
            let payload = end.offset - event.payload.len()..end.offset;
            Head { time: event.time, id: event.id, offset: event.offset, payload }
        }))
    }
}

/// Reads the pages of a CPU.
#[derive(Debug)]
struct Pages {
    order: ByteOrder,
    page_size: usize,
    compression: Option<Compression>,
    /// Where the next bytes are in the file, and where they end.
    next: u64,
    end: u64,
    /// The groups of pages that follow, once their number is known.
    groups: Option<u32>,
    /// A decompressed group, and how much of it was returned.
    group: Vec<u8>,
    used: usize,
}

impl Pages {
    fn new(data: &CpuData, layout: PageLayout, compression: Compression) -> Self {
        Self {
            order: layout.order,
            page_size: layout.page_size,
            compression: data.is_compressed.then_some(compression),
            next: data.offset,
            end: data.offset.saturating_add(data.size),
            groups: None,
            group: Vec::new(),
            used: 0,
        }
    }

    fn next<R: Read + Seek>(&mut self, input: &mut R) -> Result<Option<Vec<u8>>, TraceDatError> {
        match self.compression {
            None => self.plain(input),
            Some(compression) => self.compressed(input, compression),
        }
    }

    fn plain<R: Read + Seek>(&mut self, input: &mut R) -> Result<Option<Vec<u8>>, TraceDatError> {
        let size = (self.page_size as u64).min(self.end - self.next);
        if size == 0 {
            return Ok(None);
        }
        input.seek(SeekFrom::Start(self.next))?;
        self.next += size;
        Fields::new(input, self.order).bytes(size).map(Some)
    }

    fn compressed<R: Read + Seek>(
        &mut self,
        input: &mut R,
        compression: Compression,
    ) -> Result<Option<Vec<u8>>, TraceDatError> {
        while self.used == self.group.len() {
            if !self.next_group(input, compression)? {
                return Ok(None);
            }
        }
        let end = self.group.len().min(self.used + self.page_size);
        let page = self.group.get(self.used..end).unwrap_or_default().to_vec();
        self.used = end;
        if end == self.group.len() {
            (self.group, self.used) = (Vec::new(), 0);
        }
        Ok(Some(page))
    }

    /// Reads a group of pages; returns `false` at the end.
    fn next_group<R: Read + Seek>(
        &mut self,
        input: &mut R,
        compression: Compression,
    ) -> Result<bool, TraceDatError> {
        if self.next >= self.end {
            return Ok(false);
        }
        input.seek(SeekFrom::Start(self.next))?;
        let mut fields = Fields::new(&mut *input, self.order);
        let left = match self.groups {
            Some(left) => left,
            None => {
                self.next += 4;
                fields.u32()?
            }
        };
        let Some(left) = left.checked_sub(1) else { return Ok(false) };
        self.group = compression.read(&mut fields, MAX_GROUP, self.next)?;
        self.groups = Some(left);
        self.next = input.stream_position()?;
        Ok(true)
    }
}
