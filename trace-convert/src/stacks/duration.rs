//! Durations in order.

use std::cmp::Reverse;

use trace_analyze::catalog::{LabelId, ThreadId};

use crate::sorted::Element;

/// The size of the durations in memory while an archive is read, in bytes.
pub(super) const RUN_BYTES: usize = size_of::<Duration>() << 17;

/// A duration, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Duration {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) label: LabelId,
    pub(super) thread: ThreadId,
}

/// Outer durations precede inner ones. Of equal ones, the inner one ends first.
impl Element for Duration {
    type Order = Reverse<u64>;

    #[inline]
    fn thread(&self) -> ThreadId {
        self.thread
    }

    #[inline]
    fn begin(&self) -> u64 {
        self.begin
    }

    #[inline]
    fn order(&self) -> Reverse<u64> {
        Reverse(self.end)
    }

    fn owned_bytes(&self) -> usize {
        0
    }

    #[inline]
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.begin.to_le_bytes());
        bytes.extend_from_slice(&self.end.to_le_bytes());
        bytes.extend_from_slice(&self.label.0.to_le_bytes());
    }

    #[inline]
    fn read(bytes: &[u8], thread: ThreadId) -> Option<(Self, usize)> {
        let (begin, rest) = bytes.split_first_chunk()?;
        let (end, rest) = rest.split_first_chunk()?;
        let (label, _) = rest.split_first_chunk()?;
        let (begin, end) = (u64::from_le_bytes(*begin), u64::from_le_bytes(*end));
        let label = LabelId(u32::from_le_bytes(*label));
        Some((Self { begin, end, label, thread }, 8 + 8 + 4))
    }
}
