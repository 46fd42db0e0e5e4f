//! A record of a file, without its meaning.

/// Types of records of the kernel.
pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const EXIT: u32 = 4;
pub(super) const THROTTLE: u32 = 5;
pub(super) const UNTHROTTLE: u32 = 6;
pub(super) const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
pub(super) const MMAP2: u32 = 10;
pub(super) const LOST_SAMPLES: u32 = 13;
pub(super) const SWITCH: u32 = 14;
pub(super) const SWITCH_CPU_WIDE: u32 = 15;

/// The first type of perf's own records.
pub(super) const FIRST_OWN: u32 = 64;

/// Types of perf's own records.
pub(super) const HEADER_ATTR: u32 = 64;
pub(super) const HEADER_TRACING_DATA: u32 = 66;
pub(super) const HEADER_BUILD_ID: u32 = 67;
pub(super) const FINISHED_ROUND: u32 = 68;
pub(super) const AUXTRACE_INFO: u32 = 70;
pub(super) const AUXTRACE: u32 = 71;
pub(super) const EVENT_UPDATE: u32 = 78;
pub(super) const HEADER_FEATURE: u32 = 80;
pub(super) const COMPRESSED: u32 = 81;
pub(super) const COMPRESSED2: u32 = 83;

/// The size of a record's type, flags and size.
pub(super) const HEADER_BYTES: usize = 8;

/// The part of `misc` that says where the CPU was: in the hypervisor, or in a guest's kernel or
/// program.
const MISC_CPU_MODE: u16 = 7;
const OUTSIDE: [u16; 3] = [3, 4, 5];

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawRecord {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// What follows the header.
    pub(super) body: Box<[u8]>,
    /// Its place, in bytes from the start of the records. Records that were compressed together
    /// have the same.
    pub(super) offset: u64,
}

impl RawRecord {
    /// Returns whether it is a sample or a mapping of a guest or the hypervisor, and not of this
    /// kernel and its processes.
    pub(super) fn is_outside(&self) -> bool {
        matches!(self.kind, SAMPLE | MMAP | MMAP2) && OUTSIDE.contains(&(self.misc & MISC_CPU_MODE))
    }
}
