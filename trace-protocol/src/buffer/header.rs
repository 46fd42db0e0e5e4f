//! The header of the shared buffer.
//!
//! ```text
//! header (4096 bytes) | loss table | durable buffer | rolling buffer 0 | rolling buffer 1 | …
//! rolling buffer:  directory (one word a unit) | unit 0 | unit 1 | …
//! ```
//!
//! The manager fixes the sizes and writes them before the provider sees the buffer. The provider
//! writes the fields that change and never reads one of them back.

mod layout;

pub use crate::mode::BufferingMode;
pub use layout::{Layout, LayoutError, Parts};

/// `"hed\0ee..."`: the magic number of Fuchsia's buffer header.
pub const MAGIC: u64 = 0x6275_66ee_6865_6164;

/// The version of this layout.
pub const VERSION: u16 = 3;

/// Bytes of the header.
pub const HEADER_SIZE: usize = if MODEL { 256 } else { 4096 };

/// Bytes at the header's beginning that say what the layout is.
pub const HEADER_BYTES: usize = 72;

/// The parts of a buffer are multiples of this many bytes.
pub const PAGE_SIZE: usize = if MODEL { 64 } else { 4096 };

/// The model checker gets the same buffer on a smaller scale, since it follows each word.
const MODEL: bool = cfg!(loom);

/// The directory word of a chunk: the wrapped count plus one in the low half, the number of units
/// in the high half.
pub const fn directory_entry(wrapped_count: u32, units: u32) -> u64 {
    (wrapped_count.wrapping_add(1) as u64) | ((units as u64) << 32)
}

/// Positions of the header's fields, in words.
pub mod field {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// Version (16 bits), mode (8 bits), number of rolling buffers (8 bits), wrapped count (32
    /// bits).
    pub const VERSION_MODE_WRAPPED: usize = 1;
    /// Bytes of the whole buffer.
    pub const TOTAL_SIZE: usize = 2;
    /// Bytes of the durable buffer.
    pub const DURABLE_SIZE: usize = 3;
    /// Bytes of one rolling buffer, with its directory.
    pub const ROLLING_SIZE: usize = 4;
    /// Bytes written to the durable buffer.
    pub const DURABLE_END: usize = 5;
    /// Bytes of the loss table.
    pub const LOSSES_SIZE: usize = 6;
    /// Bytes of a unit (32 bits); bit 33: function records are permitted.
    pub const CHUNK_UNIT: usize = 8;
    /// What a process that traces itself has saved: [`SavedMark`](crate::buffer::saved::SavedMark).
    pub const SAVED: usize = 9;
    /// The time in ticks after which no record begins; 0 before the first stop, and while the
    /// provider records.
    pub const STOPPED_AT: usize = 10;
    /// Bytes reserved in rolling buffer 0 when it was handed over; the other rolling buffers
    /// follow.
    pub const ROLLING_END: usize = 16;
}

const _: () = assert!(field::ROLLING_END + Layout::MAX_ROLLING_BUFFERS <= HEADER_SIZE / 8);

/// Positions of the fields of an entry of the loss table, in words.
///
/// An entry counts the records that one thread lost for one reason. The first entries, one a reason
/// in the order of [`LossReason::ALL`](crate::buffer::producer::LossReason::ALL), count the losses
/// of all threads that have no entry of their own.
pub mod loss_entry {
    /// One more than the reason's number in the high half; in the low half the thread, 0 for
    /// several. 0 in an entry that is not used.
    pub const ID: usize = 0;
    /// Records lost.
    pub const NUMBER: usize = 1;
    /// Ticks of the first loss.
    pub const FIRST: usize = 2;
    /// Ticks of the last loss.
    pub const LAST: usize = 3;
    /// Records lost that events in the rolling buffers report, or reported before they were
    /// overwritten.
    pub const REPORTED: usize = 4;
    /// Ticks of the first loss that no event reports.
    pub const FROM: usize = 5;
    /// Words of an entry: a cache line.
    pub const WORDS: usize = 8;
}
