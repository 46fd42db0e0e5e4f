//! The file of a part, and the places in it that a copy of several parts changes.

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The size in bytes of the record with which each part begins. A last part without others is
/// removed.
pub(crate) const MAGIC: u64 = 8;

/// The begin of a part, which the writer thread sets.
pub(crate) type PartFile = Arc<OnceLock<PartBegin>>;

/// The place where a part begins.
#[derive(Debug)]
pub(crate) struct PartBegin {
    pub(crate) file: Arc<File>,
    /// The offset in bytes; 0 unless the file of this part could not be created.
    pub(crate) offset: u64,
    /// Places in the file before the part.
    pub(crate) before: PartPlaces,
}

impl PartBegin {
    /// The begin of a part that has the whole file.
    pub(crate) fn of_file(file: Arc<File>) -> Self {
        Self { file, offset: 0, before: PartPlaces::default() }
    }
}

/// What the records of a block are to an archive of several parts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockRole {
    /// They belong to it.
    #[default]
    Content,
    /// They repeat, at the begin of a part, what earlier parts have.
    Repeats,
    /// They are about the end of a part, and do not hold for it.
    EndsPart,
}

/// Places of a file, in bytes, in which a copy of several parts differs from them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartPlaces {
    /// Words with the counter's rate.
    pub(crate) rates: Vec<u64>,
    /// The end of the records at the begin of the file that repeat those of earlier parts.
    pub(crate) repeated: u64,
    /// Other records that do not belong to an archive of several parts, in their order.
    pub(crate) left_out: Vec<Range<u64>>,
}

impl PartPlaces {
    /// Notes the role of the records in `range`, which follow those before.
    pub(crate) fn add(&mut self, role: BlockRole, range: Range<u64>) {
        match role {
            BlockRole::Content => {}
            BlockRole::Repeats if range.start == self.repeated => self.repeated = range.end,
            BlockRole::Repeats | BlockRole::EndsPart => self.left_out.push(range),
        }
    }
}
