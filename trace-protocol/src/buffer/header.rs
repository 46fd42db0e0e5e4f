//! The header of the shared buffer, and the sizes of its parts.
//!
//! ```text
//! header (4096 bytes) | durable buffer | rolling buffer 0 | rolling buffer 1 (not in oneshot mode)
//! rolling buffer:  directory (one word a unit) | unit 0 | unit 1 | …
//! ```
//!
//! The manager fixes the sizes and writes them before the provider sees the buffer. The provider
//! writes the fields that change and never reads one of them back.

pub use crate::mode::BufferingMode;

/// `"hed\0ee..."`: the magic number of Fuchsia's buffer header.
pub const MAGIC: u64 = 0x6275_66ee_6865_6164;

/// The version of this layout.
pub const VERSION: u16 = 1;

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
    /// Version (16 bits), mode (8 bits), reserved (8 bits), wrapped count (32 bits).
    pub const VERSION_MODE_WRAPPED: usize = 1;
    /// Bytes of the whole buffer.
    pub const TOTAL_SIZE: usize = 2;
    /// Bytes of the durable buffer.
    pub const DURABLE_SIZE: usize = 3;
    /// Bytes of one rolling buffer, with its directory.
    pub const ROLLING_SIZE: usize = 4;
    /// Bytes written to the durable buffer.
    pub const DURABLE_END: usize = 5;
    /// Bytes reserved in rolling buffer 0 when it was handed over; rolling buffer 1 follows.
    pub const ROLLING_END: usize = 6;
    /// Bytes of a unit (low 32 bits).
    pub const CHUNK_UNIT: usize = 8;
    /// What a process that traces itself has saved: [`SavedMark`](crate::buffer::saved::SavedMark).
    pub const SAVED: usize = 9;
    /// First of the counters of dropped records, one a cache line.
    pub const DROPPED: usize = if super::MODEL { 16 } else { 256 };
    /// Number of counters of dropped records; their sum is what counts.
    pub const DROPPED_SHARDS: usize = if super::MODEL { 1 } else { 32 };
    /// Words from one counter to the next.
    pub const DROPPED_STRIDE: usize = 8;
}

const _: () =
    assert!(field::DROPPED + field::DROPPED_SHARDS * field::DROPPED_STRIDE <= HEADER_SIZE / 8);

/// The sizes of a buffer's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    mode: BufferingMode,
    durable_size: usize,
    rolling_size: usize,
    unit_size: usize,
}

/// Why a header describes no usable buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// The first word is not [`MAGIC`].
    Magic(u64),
    /// The version is not [`VERSION`].
    Version(u16),
    /// The mode is none of [`BufferingMode`].
    Mode(u8),
    /// A size is not a multiple of what it has to be, is zero, or the parts do not add up to the
    /// memory's size.
    Sizes,
}

impl core::fmt::Display for LayoutError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Magic(found) => {
                write!(f, "expected a trace buffer (magic {MAGIC:#x}), found {found:#x}")
            }
            Self::Version(found) => {
                write!(f, "expected a trace buffer of version {VERSION}, found version {found}")
            }
            Self::Mode(found) => write!(f, "expected buffering mode 0, 1 or 2, found {found}"),
            Self::Sizes => write!(f, "the sizes in the buffer's header do not fit the buffer"),
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// The smallest rolling buffer, in bytes.
    pub const MIN_ROLLING_SIZE: usize = PAGE_SIZE;
    /// The smallest unit, in bytes.
    pub const MIN_UNIT_SIZE: usize = if MODEL { 64 } else { 256 };
    /// The largest unit, in bytes.
    pub const MAX_UNIT_SIZE: usize = 4096;
    /// About how many units a rolling buffer is divided into, as far as their sizes allow: each
    /// thread that writes to it takes one.
    const UNITS: usize = 512;
    /// The largest share of a requested size that goes to the durable buffer unasked, in bytes.
    pub const MAX_DURABLE_SHARE: usize = 1 << 20;

    /// Divides about `size` bytes into the parts of a buffer.
    ///
    /// The durable buffer gets a sixteenth, at most 1 MiB, at least `durable_hint` bytes and a
    /// page; the rest goes to the rolling buffers, at least a page each, so that the buffer may end
    /// up larger than `size`. `None` where that overflows.
    pub fn plan(mode: BufferingMode, size: usize, durable_hint: usize) -> Option<Self> {
        let share = (size / 16).min(Self::MAX_DURABLE_SHARE);
        let durable_size = share.max(durable_hint).max(1).checked_next_multiple_of(PAGE_SIZE)?;
        let rest = size.saturating_sub(HEADER_SIZE).saturating_sub(durable_size);
        let rolling_size =
            (rest / mode.rolling_buffers() / PAGE_SIZE * PAGE_SIZE).max(Self::MIN_ROLLING_SIZE);
        let unit_size = (rolling_size / Self::UNITS)
            .next_power_of_two()
            .clamp(Self::MIN_UNIT_SIZE, Self::MAX_UNIT_SIZE);
        Self::new(mode, durable_size, rolling_size, unit_size).ok()
    }

    /// The layout with exactly these sizes in bytes.
    ///
    /// # Errors
    /// [`LayoutError::Sizes`] unless the parts are non-zero multiples of [`PAGE_SIZE`], the unit is
    /// a power of two from 256 to 4096, and the sum and the number of units fit.
    pub fn new(
        mode: BufferingMode,
        durable_size: usize,
        rolling_size: usize,
        unit_size: usize,
    ) -> Result<Self, LayoutError> {
        let page_multiple = |size: usize| size != 0 && size % PAGE_SIZE == 0;
        let unit_fits = unit_size.is_power_of_two()
            && (Self::MIN_UNIT_SIZE..=Self::MAX_UNIT_SIZE).contains(&unit_size)
            && u32::try_from(rolling_size / unit_size).is_ok();
        let total = rolling_size
            .checked_mul(mode.rolling_buffers())
            .and_then(|rolling| rolling.checked_add(durable_size))
            .and_then(|parts| parts.checked_add(HEADER_SIZE));
        if !page_multiple(durable_size)
            || !page_multiple(rolling_size)
            || !unit_fits
            || total.is_none()
        {
            return Err(LayoutError::Sizes);
        }
        Ok(Self { mode, durable_size, rolling_size, unit_size })
    }

    /// Reads the layout from the first nine words of a header and checks it against the memory's
    /// size.
    ///
    /// # Errors
    /// [`LayoutError`] says which field does not describe a buffer of `total_size` bytes.
    pub fn from_header(words: &[u64; 9], total_size: usize) -> Result<Self, LayoutError> {
        let [magic, version_mode, total, durable, rolling, _, _, _, unit] = *words;
        if magic != MAGIC {
            return Err(LayoutError::Magic(magic));
        }
        let version = version_mode as u16;
        if version != VERSION {
            return Err(LayoutError::Version(version));
        }
        let mode = (version_mode >> 16) as u8;
        let mode = BufferingMode::from_u8(mode).ok_or(LayoutError::Mode(mode))?;
        let size = |word: u64| usize::try_from(word).map_err(|_| LayoutError::Sizes);
        let layout =
            Self::new(mode, size(durable)?, size(rolling)?, size(unit & u64::from(u32::MAX))?)?;
        if size(total)? != total_size || layout.total_size() != total_size {
            return Err(LayoutError::Sizes);
        }
        Ok(layout)
    }

    /// [`Layout::from_header`] for the header's first bytes, as they are in a file.
    ///
    /// # Errors
    /// As for [`Layout::from_header`].
    pub fn from_header_bytes(
        bytes: &[u8; HEADER_BYTES],
        total_size: usize,
    ) -> Result<Self, LayoutError> {
        let mut words = [0; 9];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Self::from_header(&words, total_size)
    }

    /// The header's first nine words for this layout; the rest of the header is zero.
    pub fn to_header(&self) -> [u64; 9] {
        let version_mode = u64::from(VERSION) | (u64::from(self.mode as u8) << 16);
        [
            MAGIC,
            version_mode,
            self.total_size() as u64,
            self.durable_size as u64,
            self.rolling_size as u64,
            0,
            0,
            0,
            self.unit_size as u64,
        ]
    }

    /// The buffering mode.
    pub fn mode(&self) -> BufferingMode {
        self.mode
    }

    /// Bytes of the whole buffer.
    pub fn total_size(&self) -> usize {
        HEADER_SIZE + self.durable_size + self.rolling_size * self.mode.rolling_buffers()
    }

    /// Bytes of the durable buffer.
    pub fn durable_size(&self) -> usize {
        self.durable_size
    }

    /// Bytes of one rolling buffer, with its directory.
    pub fn rolling_size(&self) -> usize {
        self.rolling_size
    }

    /// Bytes of a unit.
    pub fn unit_size(&self) -> usize {
        self.unit_size
    }

    /// Words of a unit.
    pub(crate) fn unit_words(&self) -> usize {
        self.unit_size / 8
    }

    /// First word of the durable buffer.
    pub(crate) fn durable_start(&self) -> usize {
        HEADER_SIZE / 8
    }

    /// Words of the durable buffer.
    pub(crate) fn durable_words(&self) -> usize {
        self.durable_size / 8
    }

    /// First word of the rolling buffer that takes this wrapped count: its directory.
    pub(crate) fn rolling_start(&self, wrapped_count: u32) -> usize {
        let index = wrapped_count as usize % self.mode.rolling_buffers();
        self.durable_start() + self.durable_words() + index * self.rolling_size / 8
    }

    /// Words of the directory, a whole number of units.
    pub(crate) fn directory_words(&self) -> usize {
        (self.rolling_size / self.unit_size).next_multiple_of(self.unit_words())
    }

    /// Units behind the directory.
    pub(crate) fn units(&self) -> u32 {
        ((self.rolling_size / 8 - self.directory_words()) / self.unit_words()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_fuchsias() {
        let layout = Layout::new(BufferingMode::Streaming, 0x1000, 0x2000, 256).unwrap();
        assert_eq!(
            layout.to_header(),
            [0x627566ee68656164, 0x0000_0000_0002_0001, 0x6000, 0x1000, 0x2000, 0, 0, 0, 256]
        );
        assert_eq!(Layout::from_header(&layout.to_header(), 0x6000), Ok(layout));
    }

    #[test]
    fn plans_are_workable_for_any_size() {
        for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
            for size in [0, 1, 4095, 4096, 12345, 1 << 20, (16 << 20) + 7, 1 << 32] {
                for hint in [0, 1, 100_000] {
                    let layout = Layout::plan(mode, size, hint).unwrap();
                    assert!(layout.durable_size() >= hint);
                    assert!(layout.units() > 0);
                    assert!(
                        layout.total_size()
                            <= size.max(HEADER_SIZE) + 3 * PAGE_SIZE + layout.durable_size()
                    );
                    let directory_and_units =
                        layout.directory_words() + layout.units() as usize * layout.unit_words();
                    assert!(directory_and_units * 8 <= layout.rolling_size());
                }
            }
            assert_eq!(Layout::plan(mode, 0, usize::MAX), None);
        }
    }

    #[test]
    fn hostile_headers_are_refused() {
        let good = Layout::plan(BufferingMode::Circular, 1 << 20, 0).unwrap();
        let total = good.total_size();
        for (field, value) in [
            (0, 1),
            (1, 2),
            (1, 0x3_0001),
            (2, 8),
            (3, 1),
            (3, u64::MAX),
            (4, 0),
            (4, 1 << 63),
            (8, 3),
        ] {
            let mut words = good.to_header();
            words[field] = value;
            assert!(Layout::from_header(&words, total).is_err(), "field {field} = {value:#x}");
        }
        assert_eq!(Layout::from_header(&good.to_header(), total + 4096), Err(LayoutError::Sizes));
    }
}
