//! The events of a page.

use super::error::{PageError, PageFault};
use crate::byte_order::ByteOrder;

/// The bytes of an event's header.
const HEADER_BYTES: usize = 4;

/// The low bits of a time: those of a header.
const DELTA_BITS: u32 = 27;

/// The bits of a time that an absolute time has not.
const UPPER_BITS: u64 = !((1 << 59) - 1);

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    /// When it happened, in units of the trace clock.
    pub time: u64,
    /// The id of its format.
    pub id: u16,
    /// Its fields, from the id on, and up to 3 bytes of padding.
    pub payload: &'a [u8],
    /// Where its header is, in bytes from the start of the page.
    pub offset: usize,
}

/// The events of a page. It ends after an error.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    position: Position,
    order: ByteOrder,
}

/// Where a reader of events is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// In bytes from the start of the page.
    pub(crate) offset: usize,
    /// The time of the event before.
    pub(crate) time: u64,
}

/// The header of an event, with the number behind it.
enum Header {
    /// The length of the payload, and of what is before it.
    Data {
        before: usize,
        length: usize,
    },
    Padding {
        length: usize,
    },
    TimeExtend {
        delta: u64,
    },
    TimeStamp {
        time: u64,
    },
    End,
}

impl<'a> Events<'a> {
    /// Takes a page up to the end of its events.
    pub(crate) fn new(bytes: &'a [u8], position: Position, order: ByteOrder) -> Self {
        Self { bytes, position, order }
    }

    /// Returns where the next event begins.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Returns the next event if its length is in its header, as in most.
    #[inline]
    fn short(&mut self) -> Option<RawEvent<'a>> {
        let Position { offset, time } = self.position;
        let (header, rest) = self.bytes.get(offset..)?.split_first_chunk()?;
        let (kind, delta) = self.parts(self.order.four(header));
        let payload = match kind {
            1..=28 => rest.get(..HEADER_BYTES * kind as usize)?,
            _ => return None,
        };
        let id = self.order.two(payload.first_chunk()?);
        let time = time.wrapping_add(delta);
        self.position = Position { offset: offset + HEADER_BYTES + payload.len(), time };
        Some(RawEvent { time, id, payload, offset })
    }

    /// Returns the type and the time delta of a header.
    #[inline]
    fn parts(&self, word: u32) -> (u64, u64) {
        let word = u64::from(word);
        match self.order {
            ByteOrder::Little => (word & 31, word >> 5),
            ByteOrder::Big => (word >> DELTA_BITS, word & ((1 << DELTA_BITS) - 1)),
        }
    }

    #[cold]
    fn step(&mut self) -> Result<Option<RawEvent<'a>>, PageError> {
        while self.position.offset < self.bytes.len() {
            let Position { offset, time } = self.position;
            let (header, delta) = self.header()?;
            let (time, length) = match header {
                Header::Data { before, length } => {
                    let time = time.wrapping_add(delta);
                    let payload = self.take(before, length)?;
                    self.position.time = time;
                    return self.event(offset, time, payload).map(Some);
                }
                Header::Padding { length } => (time.wrapping_add(delta), length),
                Header::TimeExtend { delta } => (time.wrapping_add(delta), 2 * HEADER_BYTES),
                Header::TimeStamp { time: low } => (absolute(low, time), 2 * HEADER_BYTES),
                Header::End => break,
            };
            self.take(0, length)?;
            self.position.time = time;
        }
        self.position.offset = self.bytes.len();
        Ok(None)
    }

    /// Reads the header at the current position. Returns it with its time delta.
    fn header(&self) -> Result<(Header, u64), PageError> {
        let (kind, delta) = self.parts(self.word(0)?);
        let header = match kind {
            0 => self.long_data()?,
            29 if delta == 0 => Header::End,
            29 => Header::Padding { length: HEADER_BYTES + self.word(HEADER_BYTES)? as usize },
            30 => Header::TimeExtend { delta: self.with_upper(delta)? },
            31 => Header::TimeStamp { time: self.with_upper(delta)? },
            words => Header::Data { before: HEADER_BYTES, length: 4 * words as usize },
        };
        Ok((header, delta))
    }

    fn long_data(&self) -> Result<Header, PageError> {
        let length = self.word(HEADER_BYTES)?;
        // The length counts itself.
        match (length as usize).checked_sub(HEADER_BYTES) {
            Some(payload) => {
                Ok(Header::Data { before: 2 * HEADER_BYTES, length: payload.next_multiple_of(4) })
            }
            None => Err(self.error(PageFault::Length(length))),
        }
    }

    fn with_upper(&self, low: u64) -> Result<u64, PageError> {
        Ok(u64::from(self.word(HEADER_BYTES)?) << DELTA_BITS | low)
    }

    /// Returns the number `behind` bytes after the current position.
    fn word(&self, behind: usize) -> Result<u32, PageError> {
        let number = self.order.number_at(self.bytes, self.position.offset + behind, HEADER_BYTES);
        number.map(|number| number as u32).ok_or_else(|| self.too_long(behind + HEADER_BYTES))
    }

    /// Moves behind `before + length` bytes, and returns the last `length` of them.
    fn take(&mut self, before: usize, length: usize) -> Result<&'a [u8], PageError> {
        let rest = self.bytes.get(self.position.offset..).unwrap_or_default();
        let needed = before.saturating_add(length);
        let taken = rest.get(before..needed).ok_or_else(|| self.too_long(needed))?;
        self.position.offset += needed;
        Ok(taken)
    }

    fn event(
        &self,
        offset: usize,
        time: u64,
        payload: &'a [u8],
    ) -> Result<RawEvent<'a>, PageError> {
        let id = self.order.number_at(payload, 0, 2);
        let id = id.ok_or(PageError { offset, fault: PageFault::NoId })? as u16;
        Ok(RawEvent { time, id, payload, offset })
    }

    fn too_long(&self, needed: usize) -> PageError {
        let available = self.bytes.len() - self.position.offset;
        self.error(PageFault::Event { needed, available })
    }

    fn error(&self, fault: PageFault) -> PageError {
        PageError { offset: self.position.offset, fault }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<RawEvent<'a>, PageError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(event) = self.short() {
            return Some(Ok(event));
        }
        let event = self.step();
        if event.is_err() {
            self.position.offset = self.bytes.len();
        }
        event.transpose()
    }
}

impl std::iter::FusedIterator for Events<'_> {}

/// Returns a time of which the low 59 bits are given, with the upper bits of the time before, or
/// the next ones if the low bits wrapped.
fn absolute(low: u64, before: u64) -> u64 {
    let time = low | before & UPPER_BITS;
    match before & UPPER_BITS != 0 && time < before {
        true => time.wrapping_add(1 << 59),
        false => time,
    }
}
