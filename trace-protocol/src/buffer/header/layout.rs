//! The sizes and places of a buffer's parts.

use super::{
    loss_entry, BufferingMode, HEADER_BYTES, HEADER_SIZE, MAGIC, MODEL, PAGE_SIZE, VERSION,
};

/// The sizes of a buffer's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Bytes of the loss table.
    pub losses_size: usize,
    /// Bytes of the durable buffer.
    pub durable_size: usize,
    /// How many rolling buffers there are.
    pub rolling_buffers: usize,
    /// Bytes of one rolling buffer, with its directory.
    pub rolling_size: usize,
    /// Bytes of a unit.
    pub unit_size: usize,
}

/// The parts of a buffer: their sizes add up, and what writes and reads them can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    mode: BufferingMode,
    parts: Parts,
    function_records: bool,
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

/// In the word of the unit's size: function records are permitted. Bit 32 permitted those of an
/// earlier form, which this version does not write or read.
const FUNCTION_RECORDS: u64 = 1 << 33;

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

    /// The most rolling buffers.
    pub const MAX_ROLLING_BUFFERS: usize = 8;
    /// What a rolling buffer has at least where there are more than two, in bytes: room for two of
    /// the largest records.
    const SMALL_ROLLING_SIZE: usize = 64 << 10;
    /// The smallest loss table, in bytes.
    pub const MIN_LOSSES_SIZE: usize = if MODEL { 512 } else { PAGE_SIZE };
    /// The largest loss table, in bytes: 2048 entries.
    pub const MAX_LOSSES_SIZE: usize = 2048 * 8 * loss_entry::WORDS;

    /// Divides about `size` bytes into the parts of a buffer.
    ///
    /// The loss table gets a 64th, at most 128 KiB. The durable buffer gets a sixteenth, at most 1
    /// MiB, at least `durable_hint` bytes and a page; the rest goes to the rolling buffers, at
    /// least a page each, so that the buffer may end up larger than `size`. `None` where that
    /// overflows.
    pub fn plan(mode: BufferingMode, size: usize, durable_hint: usize) -> Option<Self> {
        let losses_size =
            (size / 64 / PAGE_SIZE * PAGE_SIZE).clamp(Self::MIN_LOSSES_SIZE, Self::MAX_LOSSES_SIZE);
        let share = (size / 16).min(Self::MAX_DURABLE_SHARE);
        let durable_size = share.max(durable_hint).max(1).checked_next_multiple_of(PAGE_SIZE)?;
        let rest = size
            .saturating_sub(HEADER_SIZE)
            .saturating_sub(losses_size)
            .saturating_sub(durable_size);
        let rolling_buffers = Self::planned_rolling_buffers(mode, rest);
        let rolling_size =
            (rest / rolling_buffers / PAGE_SIZE * PAGE_SIZE).max(Self::MIN_ROLLING_SIZE);
        let unit_size = (rolling_size / Self::UNITS)
            .next_power_of_two()
            .clamp(Self::MIN_UNIT_SIZE, Self::MAX_UNIT_SIZE);
        let parts = Parts { losses_size, durable_size, rolling_buffers, rolling_size, unit_size };
        Self::new(mode, parts).ok()
    }

    /// How many rolling buffers `size` bytes are divided into. With many of them threads run
    /// further ahead of the service thread and the manager, and circular mode keeps more.
    fn planned_rolling_buffers(mode: BufferingMode, size: usize) -> usize {
        match mode {
            BufferingMode::Oneshot => 1,
            BufferingMode::Circular | BufferingMode::Streaming => {
                let fit = (size / Self::SMALL_ROLLING_SIZE).clamp(2, Self::MAX_ROLLING_BUFFERS);
                1 << fit.ilog2()
            }
        }
    }

    /// The layout with exactly these parts.
    ///
    /// # Errors
    /// [`LayoutError::Sizes`] unless the parts are non-zero multiples of [`PAGE_SIZE`], the loss
    /// table has at most 2048 entries, there is one rolling buffer in oneshot mode and 2 to 8 in
    /// the others, the unit is a power of two from 256 to 4096, and the sum and the number of units
    /// fit.
    pub fn new(mode: BufferingMode, parts: Parts) -> Result<Self, LayoutError> {
        let Parts { losses_size, durable_size, rolling_buffers, rolling_size, unit_size } = parts;
        let page_multiple = |size: usize| size != 0 && size % PAGE_SIZE == 0;
        let losses_fit = (Self::MIN_LOSSES_SIZE..=Self::MAX_LOSSES_SIZE).contains(&losses_size);
        let buffers_fit = match mode {
            BufferingMode::Oneshot => rolling_buffers == 1,
            _ => (2..=Self::MAX_ROLLING_BUFFERS).contains(&rolling_buffers),
        };
        let unit_fits = unit_size.is_power_of_two()
            && (Self::MIN_UNIT_SIZE..=Self::MAX_UNIT_SIZE).contains(&unit_size)
            && u32::try_from(rolling_size / unit_size).is_ok();
        let total = rolling_size
            .checked_mul(rolling_buffers)
            .and_then(|rolling| rolling.checked_add(durable_size))
            .and_then(|parts| parts.checked_add(losses_size))
            .and_then(|parts| parts.checked_add(HEADER_SIZE));
        let whole = [losses_size, durable_size, rolling_size].into_iter().all(page_multiple);
        if !(whole && losses_fit && buffers_fit && unit_fits && total.is_some()) {
            return Err(LayoutError::Sizes);
        }
        Ok(Self { mode, parts, function_records: false })
    }

    /// Reads the layout from the first nine words of a header and checks it against the memory's
    /// size.
    ///
    /// # Errors
    /// [`LayoutError`] says which field does not describe a buffer of `total_size` bytes.
    pub fn from_header(words: &[u64; 9], total_size: usize) -> Result<Self, LayoutError> {
        let [magic, version_mode, total, durable, rolling, _, losses, _, unit] = *words;
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
        let parts = Parts {
            losses_size: size(losses)?,
            durable_size: size(durable)?,
            rolling_buffers: usize::from((version_mode >> 24) as u8),
            rolling_size: size(rolling)?,
            unit_size: size(unit & u64::from(u32::MAX))?,
        };
        let layout = Self::new(mode, parts)?.with_function_records(unit & FUNCTION_RECORDS != 0);
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
        let Parts { losses_size, durable_size, rolling_buffers, rolling_size, unit_size } =
            self.parts;
        let version_mode = u64::from(VERSION)
            | (u64::from(self.mode as u8) << 16)
            | ((rolling_buffers as u64) << 24);
        [
            MAGIC,
            version_mode,
            self.total_size() as u64,
            durable_size as u64,
            rolling_size as u64,
            0,
            losses_size as u64,
            0,
            unit_size as u64 | if self.function_records { FUNCTION_RECORDS } else { 0 },
        ]
    }

    /// The same layout, with [function records](crate::buffer::function) permitted or not.
    /// Providers of earlier versions do not know the permission, and write none.
    #[must_use]
    pub fn with_function_records(self, function_records: bool) -> Self {
        Self { function_records, ..self }
    }

    /// Whether chunks may have [function records](crate::buffer::function).
    pub fn has_function_records(&self) -> bool {
        self.function_records
    }

    /// The same layout of a circular buffer whose provider has begun to stream.
    #[must_use]
    pub fn streaming(self) -> Self {
        match self.mode {
            BufferingMode::Oneshot => self,
            _ => Self { mode: BufferingMode::Streaming, ..self },
        }
    }

    /// The buffering mode.
    pub fn mode(&self) -> BufferingMode {
        self.mode
    }

    /// Bytes of the whole buffer.
    pub fn total_size(&self) -> usize {
        let Parts { losses_size, durable_size, rolling_buffers, rolling_size, .. } = self.parts;
        HEADER_SIZE + losses_size + durable_size + rolling_size * rolling_buffers
    }

    /// Bytes of the durable buffer.
    pub fn durable_size(&self) -> usize {
        self.parts.durable_size
    }

    /// How many rolling buffers there are.
    pub fn rolling_buffers(&self) -> usize {
        self.parts.rolling_buffers
    }

    /// Bytes of one rolling buffer, with its directory.
    pub fn rolling_size(&self) -> usize {
        self.parts.rolling_size
    }

    /// Bytes of a unit.
    pub fn unit_size(&self) -> usize {
        self.parts.unit_size
    }

    /// First byte of the loss table.
    pub fn losses_offset(&self) -> usize {
        self.losses_start() * 8
    }

    /// First byte of the durable buffer.
    pub fn durable_offset(&self) -> usize {
        self.durable_start() * 8
    }

    /// First byte of the rolling buffer that takes this wrapped count.
    pub fn rolling_offset(&self, wrapped_count: u32) -> usize {
        self.rolling_start(wrapped_count) * 8
    }

    /// First word of the loss table.
    pub(crate) fn losses_start(&self) -> usize {
        HEADER_SIZE / 8
    }

    /// Entries of the loss table.
    pub(crate) fn loss_entries(&self) -> usize {
        self.parts.losses_size / 8 / loss_entry::WORDS
    }

    /// Words of a unit.
    pub(crate) fn unit_words(&self) -> usize {
        self.unit_size() / 8
    }

    /// First word of the durable buffer.
    pub(crate) fn durable_start(&self) -> usize {
        self.losses_start() + self.parts.losses_size / 8
    }

    /// Words of the durable buffer.
    pub(crate) fn durable_words(&self) -> usize {
        self.durable_size() / 8
    }

    /// First word of the rolling buffer that takes this wrapped count: its directory.
    pub(crate) fn rolling_start(&self, wrapped_count: u32) -> usize {
        let index = wrapped_count as usize % self.rolling_buffers();
        self.durable_start() + self.durable_words() + index * self.rolling_size() / 8
    }

    /// Words of the directory, a whole number of units.
    pub(crate) fn directory_words(&self) -> usize {
        (self.rolling_size() / self.unit_size()).next_multiple_of(self.unit_words())
    }

    /// Units behind the directory.
    pub(crate) fn units(&self) -> u32 {
        ((self.rolling_size() / 8 - self.directory_words()) / self.unit_words()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_fuchsias() {
        let parts = Parts {
            losses_size: 0x3000,
            durable_size: 0x1000,
            rolling_buffers: 4,
            rolling_size: 0x2000,
            unit_size: 256,
        };
        let layout = Layout::new(BufferingMode::Streaming, parts).unwrap();
        let version_mode = 0x0000_0000_0402_0003;
        assert_eq!(
            layout.to_header(),
            [MAGIC, version_mode, 0xd000, 0x1000, 0x2000, 0, 0x3000, 0, 256]
        );
        assert_eq!(Layout::from_header(&layout.to_header(), 0xd000), Ok(layout));
        let permitted = layout.with_function_records(true);
        assert_eq!(permitted.to_header()[8], 0x2_0000_0100);
        assert_eq!(Layout::from_header(&permitted.to_header(), 0xd000), Ok(permitted));
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
                            <= size.max(HEADER_SIZE) + 4 * PAGE_SIZE + layout.durable_size()
                    );
                    let directory_and_units =
                        layout.directory_words() + layout.units() as usize * layout.unit_words();
                    assert!(directory_and_units * 8 <= layout.rolling_size());
                }
            }
            assert_eq!(Layout::plan(mode, 0, usize::MAX), None);
        }
    }

    /// Sizes in the order of [`Parts`].
    #[test]
    fn plans_divide_a_size_as_documented() {
        use BufferingMode::{Circular, Oneshot, Streaming};
        const KIB: usize = 1 << 10;
        for (mode, size, hint, parts) in [
            (Oneshot, 0, 0, [4, 4, 1, 4, 0]),
            (Oneshot, 1 << 20, 0, [16, 64, 1, 940, 2]),
            (Streaming, 1 << 20, 0, [16, 64, 8, 116, 0]),
            (Circular, 1 << 20, 0, [16, 64, 8, 116, 0]),
            (Circular, 1 << 20, 100 << 10, [16, 100, 8, 112, 0]),
            (Streaming, 16 << 20, 0, [128, 1024, 8, 1900, 4]),
            (Streaming, 1 << 30, 0, [128, 1024, 8, 130_924, 4]),
        ] {
            let layout = Layout::plan(mode, size, hint).unwrap();
            let found = [
                layout.durable_offset() - layout.losses_offset(),
                layout.durable_size(),
                layout.rolling_buffers() * KIB,
                layout.rolling_size(),
                layout.unit_size(),
            ];
            assert_eq!(found.map(|size| size / KIB), parts, "{mode:?} {size} {hint}");
        }
        assert_eq!(Layout::plan(Circular, 1 << 20, 0).unwrap().unit_size(), 256);
    }

    #[test]
    fn parts_follow_one_another() {
        let parts = Parts {
            losses_size: 0x3000,
            durable_size: 0x2000,
            rolling_buffers: 3,
            rolling_size: 0x4000,
            unit_size: 512,
        };
        let layout = Layout::new(BufferingMode::Circular, parts).unwrap();
        assert_eq!((layout.losses_offset(), layout.durable_offset()), (0x1000, 0x4000));
        let rolling = [0, 1, 2, 3, 7].map(|wrap| layout.rolling_offset(wrap));
        assert_eq!(rolling, [0x6000, 0xa000, 0xe000, 0x6000, 0xa000]);
        assert_eq!(layout.total_size(), 0x12000);
        assert_eq!(layout.loss_entries(), 0x3000 / 64);
        // 32 units, of which the first has their directory.
        assert_eq!((layout.directory_words(), layout.units()), (64, 31));
    }

    #[test]
    fn parts_have_limits() {
        let good = Parts {
            losses_size: 4096,
            durable_size: 4096,
            rolling_buffers: 8,
            rolling_size: 4096,
            unit_size: 256,
        };
        let is_good = |parts| Layout::new(BufferingMode::Circular, parts).is_ok();
        assert!(is_good(good));
        for losses_size in [0, 4095, 4097, Layout::MAX_LOSSES_SIZE + 4096] {
            assert!(!is_good(Parts { losses_size, ..good }), "{losses_size}");
        }
        assert!(is_good(Parts { losses_size: Layout::MAX_LOSSES_SIZE, ..good }));
        for size in [0, 4095, 4097, usize::MAX - 4095] {
            assert!(!is_good(Parts { durable_size: size, ..good }), "{size}");
            assert!(!is_good(Parts { rolling_size: size, ..good }), "{size}");
        }
        for (unit_size, is_one) in
            [(128, false), (256, true), (4096, true), (8192, false), (768, false)]
        {
            assert_eq!(is_good(Parts { unit_size, rolling_size: 1 << 20, ..good }), is_one);
        }
        for rolling_buffers in [0, 1, 9] {
            assert!(!is_good(Parts { rolling_buffers, ..good }), "{rolling_buffers}");
        }
        assert!(is_good(Parts { rolling_buffers: 2, ..good }));
        let oneshot = |rolling_buffers| {
            Layout::new(BufferingMode::Oneshot, Parts { rolling_buffers, ..good }).is_ok()
        };
        assert!(oneshot(1) && !oneshot(2) && !oneshot(0));
    }

    #[test]
    fn there_are_more_rolling_buffers_where_their_size_permits() {
        for mode in [BufferingMode::Circular, BufferingMode::Streaming] {
            let buffers = |size| Layout::plan(mode, size, 0).map(|layout| layout.rolling_buffers());
            let sizes = [64 << 10, 200 << 10, 400 << 10, 1 << 20, 16 << 20];
            assert_eq!(sizes.map(buffers), [2, 2, 4, 8, 8].map(Some));
        }
    }

    #[test]
    fn hostile_headers_are_refused() {
        let good = Layout::plan(BufferingMode::Circular, 1 << 20, 0).unwrap();
        let total = good.total_size();
        for (field, value) in [
            (0, 1),
            (1, 1),
            (1, 0x801_0002),
            (1, 0x801_0004),
            (1, 0x803_0003),
            (1, 0x001_0003),
            (1, 0x101_0003),
            (1, 0x901_0003),
            (1, 0x200_0003),
            (2, 8),
            (3, 1),
            (3, u64::MAX),
            (4, 0),
            (4, 1 << 63),
            (6, 0),
            (6, 4095),
            (6, 1 << 20),
            (6, u64::MAX),
            (8, 3),
        ] {
            let mut words = good.to_header();
            words[field] = value;
            assert!(Layout::from_header(&words, total).is_err(), "field {field} = {value:#x}");
        }
        assert_eq!(Layout::from_header(&good.to_header(), total + 4096), Err(LayoutError::Sizes));
    }
}
