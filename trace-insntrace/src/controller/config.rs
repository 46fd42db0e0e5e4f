//! The limits of allocations and buffers.

use super::backend::Capabilities;
use super::call::{Allocation, BufferConfig, Mode, Status};
use super::{
    ctl, MAX_ADDRESS_RANGES, MAX_BUFFER_BYTES, MAX_CHUNKS, MAX_CHUNK_ORDER, MAX_TRACES, PAGE_BYTES,
};

/// The low bits of CR3, which are not part of its address.
const CR3_LOW_BITS: u64 = 0x1f;

impl Mode {
    pub(super) fn is_supported(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Cpu => capabilities.cpus != 0,
            Self::Thread => capabilities.threads,
        }
    }
}

impl Allocation {
    pub(super) fn check(&self, capabilities: &Capabilities) -> Result<(), Status> {
        let allowed = match self.mode {
            Mode::Cpu => self.num_traces == capabilities.cpus,
            Mode::Thread => self.num_traces != 0,
        };
        require(allowed && self.num_traces <= MAX_TRACES, Status::InvalidArgs)
    }
}

impl BufferConfig {
    /// Returns the size of a chunk in bytes.
    #[must_use]
    pub fn chunk_bytes(&self) -> u64 {
        PAGE_BYTES.checked_shl(self.chunk_order).unwrap_or(0)
    }

    /// Returns whether the buffer is neither empty nor too large.
    pub(crate) fn has_allowed_size(&self) -> bool {
        (1..=MAX_CHUNKS).contains(&self.num_chunks)
            && self.chunk_order <= MAX_CHUNK_ORDER
            && u64::from(self.num_chunks) * self.chunk_bytes() <= MAX_BUFFER_BYTES
    }

    /// Checks the arguments against the protocol, and against the numbers of this back end.
    pub(super) fn check(&self, capabilities: &Capabilities) -> Result<(), Status> {
        let ranges = self.address_ranges.iter().all(|(start, end)| start <= end);
        // Without support, it is not examined.
        let address_space =
            !capabilities.address_space_match || self.address_space_match & CR3_LOW_BITS == 0;
        let allowed =
            self.has_allowed_size() && self.ctl_is_allowed(capabilities) && ranges && address_space;
        require(allowed, Status::InvalidArgs)
    }

    fn ctl_is_allowed(&self, capabilities: &Capabilities) -> bool {
        let allowed = |value: u64, values: u16| value == 0 || values >> value & 1 == 1;
        self.ctl & !capabilities.ctl == 0
            && allowed(ctl::MtcFrequency::get(self.ctl), capabilities.mtc_frequencies)
            && allowed(ctl::CycleThreshold::get(self.ctl), capabilities.cycle_thresholds)
            && allowed(ctl::PsbFrequency::get(self.ctl), capabilities.psb_frequencies)
    }

    /// Checks that this back end has the requested features.
    pub(super) fn check_support(&self, capabilities: &Capabilities) -> Result<(), Status> {
        let unsupported = (capabilities.address_ranges..MAX_ADDRESS_RANGES)
            .filter_map(|index| self.address_ranges.get(usize::from(index)))
            .any(|range| *range != (0, 0));
        let address_space = self.address_space_match != 0 && !capabilities.address_space_match;
        require(!unsupported && !address_space, Status::NotSupported)
    }
}

pub(super) fn require(condition: bool, otherwise: Status) -> Result<(), Status> {
    condition.then_some(()).ok_or(otherwise)
}
