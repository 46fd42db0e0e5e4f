//! The packets of an AUX area, and the kernel's records about it.

use crate::controller::Losses;

/// Types of the kernel's records.
const LOST: u32 = 2;
const AUX: u32 = 11;
const ITRACE_START: u32 = 12;

/// The size of a record's type, flags and size.
const HEADER_BYTES: usize = 8;

/// Flags of [`AUX`].
const TRUNCATED: u64 = 1 << 0;
const PARTIAL: u64 = 1 << 2;

/// The end of an area that is checked for packets, in bytes.
const END_BYTES: usize = 4096;

/// If an area has less space in bytes, the kernel may have turned the event off.
const PAGE_BYTES: u64 = 4096;

/// An AUX area, and the ring buffer of its event.
pub trait AuxArea {
    /// Returns the size of the area in bytes, a power of two.
    fn size(&self) -> usize;

    /// Returns the position behind the newest packet. Of an area that is overwritten it is a place
    /// in the area, otherwise the number of bytes that were ever written.
    fn head(&self) -> u64;

    /// Lets the processor write over the bytes before `tail`.
    fn set_tail(&mut self, tail: u64);

    /// Appends `length` bytes from the place `start` on, which are in the area.
    fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize);

    /// Returns the records since the last call.
    fn take_records(&mut self) -> Vec<u8>;
}

/// Returns the number of bytes that are in an area from which nothing was taken.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn held_bytes(area: &impl AuxArea, overwrites: bool) -> u64 {
    let (head, size) = (area.head(), area.size() as u64);
    match overwrites {
        true if is_wrapped(area, head % size.max(1)) => size,
        _ => head.min(size),
    }
}

/// Takes packets out of an area. If they are overwritten, its event is off.
#[derive(Debug, Clone, Default)]
pub struct Collector {
    /// The number of bytes that were taken.
    tail: u64,
    losses: Losses,
    /// Whether the kernel has reported since the last call of `take` that packets did not fit.
    is_reported: bool,
    /// The process and the thread that were traced first.
    started: Option<(u32, u32)>,
}

impl Collector {
    /// Creates a collector for a new area.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what was missing so far.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Returns the process and the thread that were traced first, if the kernel reported them.
    #[must_use]
    pub fn started(&self) -> Option<(u32, u32)> {
        self.started
    }

    /// Returns what was missing so far, with the packets that were not taken yet.
    pub fn losses_so_far(&mut self, area: &mut impl AuxArea, overwrites: bool) -> Losses {
        self.read_records(&area.take_records());
        let is_full = !overwrites && self.is_full(area);
        self.losses + Losses { truncated: is_full.into(), ..Losses::default() }
    }

    /// Returns whether packets may not have fitted that no record reports: the kernel writes none
    /// if there is no space at all.
    fn is_full(&self, area: &impl AuxArea) -> bool {
        let size = area.size() as u64;
        let space = size.saturating_sub(area.head().saturating_sub(self.tail));
        space < PAGE_BYTES.min(size) && !self.is_reported
    }

    /// Returns the packets since the last call, and lets the processor continue behind them.
    pub fn take(&mut self, area: &mut impl AuxArea) -> Vec<u8> {
        self.losses = self.losses_so_far(area, false);
        self.is_reported = false;
        let (head, size) = (area.head(), area.size() as u64);
        // The position is the kernel's, but the memory is shared.
        let from = self.tail.max(head.saturating_sub(size));
        self.losses.gaps += u64::from(from > self.tail);
        let packets = copy(area, from, head.saturating_sub(from));
        self.tail = head;
        area.set_tail(head);
        packets
    }

    /// Returns all packets of an area that is overwritten, the oldest first.
    pub fn take_overwritten(&mut self, area: &mut impl AuxArea) -> Vec<u8> {
        self.read_records(&area.take_records());
        let size = area.size() as u64;
        let head = area.head() % size.max(1);
        match is_wrapped(area, head) {
            true => copy(area, head, size),
            false => copy(area, 0, head),
        }
    }

    fn read_records(&mut self, mut bytes: &[u8]) {
        while let Some((kind, body, rest)) = split_record(bytes) {
            let word =
                |index: usize| Some(u64::from_ne_bytes(*body.get(8 * index..)?.first_chunk()?));
            match (kind, word(0), word(1), word(2)) {
                (AUX, _, _, Some(flags)) => {
                    self.losses.truncated += u64::from(flags & TRUNCATED != 0);
                    self.is_reported |= flags & TRUNCATED != 0;
                    self.losses.gaps += u64::from(flags & PARTIAL != 0);
                }
                (LOST, _, Some(number), _) => self.losses.records += number,
                (ITRACE_START, Some(ids), _, _) => {
                    let (process, thread) = (ids as u32, (ids >> 32) as u32);
                    self.started.get_or_insert((process, thread));
                }
                _ => {}
            }
            bytes = rest;
        }
    }
}

/// Returns the type and the fields of the first record, and the bytes behind it.
fn split_record(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let kind = u32::from_ne_bytes(*bytes.first_chunk()?);
    let size = u16::from_ne_bytes(*bytes.get(6..)?.first_chunk()?);
    let (record, rest) = bytes.split_at_checked(size.into())?;
    Some((kind, record.get(HEADER_BYTES..)?, rest))
}

/// Returns whether packets have reached the end of the area. The kernel does not count rounds, and
/// a new area is zero. A processor does not write zeros for a page: these are PAD packets, which it
/// writes for alignment.
fn is_wrapped(area: &impl AuxArea, head: u64) -> bool {
    let size = area.size();
    let start = size.saturating_sub(END_BYTES).max(usize::try_from(head).unwrap_or(size));
    let mut end = Vec::new();
    area.append_to(&mut end, start, size.saturating_sub(start));
    end.iter().any(|byte| *byte != 0)
}

/// Copies `length` bytes, at most the whole area, from a position on.
fn copy(area: &impl AuxArea, from: u64, length: u64) -> Vec<u8> {
    let size = area.size();
    let length = usize::try_from(length).unwrap_or(size).min(size);
    let start = from.checked_rem(size as u64).unwrap_or(0) as usize;
    let first = length.min(size - start);
    let mut bytes = Vec::with_capacity(length);
    area.append_to(&mut bytes, start, first);
    area.append_to(&mut bytes, 0, length - first);
    bytes
}
