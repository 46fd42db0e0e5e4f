//! The arguments of an event.

use super::pmu::Pmu;
use crate::controller::{ctl, BufferConfig, Status, PAGE_BYTES};
use crate::recording::Mapping;

/// The first address of the kernel.
const KERNEL: u64 = 1 << 63;

/// The arguments of `perf_event_open(2)` and of its mappings for a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The type of the event.
    pub kind: u32,
    /// Its options.
    pub config: u64,
    /// The control register of the buffer.
    pub ctl: u64,
    /// Whether the kernel is excluded.
    pub exclude_kernel: bool,
    /// Whether user space is excluded.
    pub exclude_user: bool,
    /// The size of the AUX area in bytes: a power of two, at least that of the buffer.
    pub aux_bytes: u64,
    /// Whether the newest packets overwrite the oldest: the AUX area is mapped read-only then.
    /// Otherwise the kernel turns the event off when it is full.
    pub overwrites: bool,
    /// The argument of `PERF_EVENT_IOC_SET_FILTER`, or empty.
    pub filter: String,
}

/// An address range of a buffer: both ends included.
#[derive(Debug, Clone, Copy)]
struct Range(u64, u64);

impl Settings {
    /// Returns the arguments for a buffer. `mappings` is the code of the thread to be traced, to
    /// which filters of user space refer; there is none if CPUs are traced.
    ///
    /// # Errors
    ///
    /// `NOT_SUPPORTED` if the kernel does not have an option, or a range is not within the code of
    /// one file.
    pub fn new(pmu: &Pmu, config: &BufferConfig, mappings: &[Mapping]) -> Result<Self, Status> {
        let has = |bit: u64| config.ctl & bit != 0;
        let ranges = config.address_ranges.into_iter().filter(|range| *range != (0, 0));
        let filters: Result<Vec<_>, _> =
            ranges.map(|(start, end)| Range(start, end).filter(mappings)).collect();
        let bytes = u64::from(config.num_chunks).saturating_mul(config.chunk_bytes());
        Ok(Self {
            kind: pmu.kind(),
            config: options(pmu, config.ctl).ok_or(Status::NotSupported)?,
            ctl: config.ctl,
            exclude_kernel: !has(ctl::Os::make(1)),
            exclude_user: !has(ctl::User::make(1)),
            aux_bytes: bytes.max(PAGE_BYTES).next_power_of_two(),
            overwrites: config.is_circular,
            filter: filters?.join(","),
        })
    }
}

/// Returns `config` for a control register. Bits for the kernel, user space and address ranges are
/// not options.
fn options(pmu: &Pmu, register: u64) -> Option<u64> {
    let fields = [
        // Without it, the kernel always traces branches.
        ("pt", 1),
        ("cyc", ctl::CycleEnable::get(register)),
        ("pwr_evt", ctl::PowerEventEnable::get(register)),
        ("fup_on_ptw", ctl::FupOnPtWrite::get(register)),
        ("mtc", ctl::MtcEnable::get(register)),
        ("tsc", ctl::TscEnable::get(register)),
        ("noretcomp", ctl::DisableReturnCompression::get(register)),
        ("ptw", ctl::PtWriteEnable::get(register)),
        ("branch", ctl::BranchEnable::get(register)),
        ("mtc_period", ctl::MtcFrequency::get(register)),
        ("cyc_thresh", ctl::CycleThreshold::get(register)),
        ("psb_period", ctl::PsbFrequency::get(register)),
    ];
    fields.into_iter().try_fold(0, |config, (name, value)| Some(config | pmu.place(name, value)?))
}

impl Range {
    /// Returns the range in the syntax of the kernel: an address of the kernel, or an offset in a
    /// file.
    fn filter(self, mappings: &[Mapping]) -> Result<String, Status> {
        let Self(start, end) = self;
        let size = end.checked_sub(start).and_then(|size| size.checked_add(1));
        let size = size.ok_or(Status::NotSupported)?;
        if start >= KERNEL {
            return Ok(format!("filter {start:#x}/{size:#x}"));
        }
        let holds = |mapping: &&Mapping| mapping.contains(start) && mapping.contains(end);
        let mapping = mappings.iter().rev().find(holds).ok_or(Status::NotSupported)?;
        // The kernel's syntax has no spaces, and no commas.
        let is_plain = mapping.path.starts_with('/') && !mapping.path.contains([' ', ',']);
        let offset = mapping.offset.saturating_add(start - mapping.address);
        match is_plain {
            true => Ok(format!("filter {offset:#x}/{size:#x}@{}", mapping.path)),
            false => Err(Status::NotSupported),
        }
    }
}
