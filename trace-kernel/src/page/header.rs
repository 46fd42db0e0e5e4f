//! The header of a page.

use super::error::{PageError, PageFault};
use super::events::{Events, Position};
use crate::byte_order::ByteOrder;

/// The largest page that this crate reads, in bytes. Linux has 64 KiB by default at most, and
/// `buffer_subbuf_size_kb` can raise that.
const MAX_PAGE_BYTES: usize = 16 << 20;

/// The bits of the word `commit` with the length. Linux extends the sign of the flags above them
/// in words of 8 bytes.
const LENGTH: u64 = MISSED_STORED - 1;
/// Events before this page are missing.
const MISSED_EVENTS: u64 = 1 << 31;
/// Their number is behind the events.
const MISSED_STORED: u64 = 1 << 30;

/// Where the parts of a page are; see [`page_layout`](crate::format::page_layout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    /// The byte order of all numbers.
    pub order: ByteOrder,
    /// Where the word with length and flags is, in bytes.
    pub commit_offset: usize,
    /// How many bytes it has: 4 or 8.
    pub commit_size: usize,
    /// Where events begin, in bytes.
    pub data_offset: usize,
    /// How many bytes a page has.
    pub page_size: usize,
}

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The time from which its events count, in units of the trace clock.
    pub time: u64,
    /// The events that are missing before it.
    pub missed: Missed,
    layout: PageLayout,
    /// The page up to the end of its events.
    bytes: &'a [u8],
}

/// Events that were overwritten or dropped before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// None.
    None,
    /// Some; the page has no space for their number.
    Unknown,
    /// So many.
    Count(u64),
}

impl Missed {
    /// Returns the sum.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, missed) | (missed, Self::None) => missed,
            (Self::Count(one), Self::Count(two)) => Self::Count(one.saturating_add(two)),
            _ => Self::Unknown,
        }
    }
}

impl PageLayout {
    pub(crate) fn is_possible(&self) -> bool {
        self.commit_offset >= 8
            && matches!(self.commit_size, 4 | 8)
            && self.data_offset >= self.commit_offset.saturating_add(self.commit_size)
            && (self.data_offset..=MAX_PAGE_BYTES).contains(&self.page_size)
    }

    /// Parses the header of a page. Bytes behind its events may be missing.
    ///
    /// # Errors
    ///
    /// The page ends within its header or its events.
    pub fn parse<'a>(&self, bytes: &'a [u8]) -> Result<Page<'a>, PageError> {
        let short = PageError { offset: bytes.len(), fault: PageFault::Header };
        let time = self.order.number_at(bytes, 0, 8).ok_or(short)?;
        let commit =
            self.order.number_at(bytes, self.commit_offset, self.commit_size).ok_or(short)?;
        let committed = (commit & LENGTH) as usize;
        let available = bytes.len().checked_sub(self.data_offset).ok_or(short)?;
        if committed > available {
            let fault = PageFault::Commit { committed, available };
            return Err(PageError { offset: self.commit_offset, fault });
        }
        let end = self.data_offset + committed;
        let missed = self.missed(commit, bytes.get(end..).unwrap_or_default());
        Ok(Page { time, missed, layout: *self, bytes: bytes.get(..end).unwrap_or_default() })
    }

    /// `behind` follows the events.
    fn missed(&self, commit: u64, behind: &[u8]) -> Missed {
        let count = || self.order.number_at(behind, 0, self.commit_size);
        match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::None,
            (true, false) => Missed::Unknown,
            (true, true) => count().map_or(Missed::Unknown, Missed::Count),
        }
    }
}

impl<'a> Page<'a> {
    /// Returns the events, in the order of time.
    #[must_use]
    pub fn events(&self) -> Events<'a> {
        self.events_from(self.start())
    }

    /// Returns the end of the events, in bytes from the start of the page.
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Returns where the first event begins.
    pub(crate) fn start(&self) -> Position {
        Position { offset: self.layout.data_offset, time: self.time }
    }

    /// Returns the events from a position on.
    pub(crate) fn events_from(&self, position: Position) -> Events<'a> {
        Events::new(self.bytes, position, self.layout.order)
    }
}
