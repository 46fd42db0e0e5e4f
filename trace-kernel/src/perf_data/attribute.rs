//! The events of a file: `perf_event_attr` with its ids and its name.

use std::sync::Arc;

use super::fields::numbers;
use crate::byte_order::ByteOrder;

/// The types of events of processors, which the kernel translates.
const HARDWARE: u32 = 0;
const CACHE: u32 = 3;

/// The type of tracepoints.
const TRACEPOINT: u32 = 2;

/// The type and the number of events that count nothing, for records of other types.
const DUMMY: (u32, u64) = (1, 9);

/// The types and the numbers of the clocks of the kernel.
const CLOCKS: [(u32, u64); 2] = [(1, 0), (1, 1)];

/// The size of the first version of the structure.
const LEAST_BYTES: usize = 64;

/// Bits of the flags.
const INHERIT: u64 = 1 << 1;
const FREQUENCY: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) kind: u32,
    pub(super) config: u64,
    /// Further numbers of the event: the kind and the address of a breakpoint.
    pub(super) details: [u64; 3],
    /// The period or the frequency of samples; 0 if there are none.
    pub(super) rate: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) branch_type: u64,
    pub(super) flags: u64,
    /// The registers of user mode in samples.
    pub(super) registers: u64,
    pub(super) clock: u32,
    /// Empty once the event is in a list.
    pub(super) ids: Vec<u64>,
    pub(super) name: Arc<str>,
}

impl Attribute {
    /// Parses the structure. Those of later versions are longer.
    pub(super) fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let number = |offset, size| order.number_at(bytes, offset, size);
        let later = |offset, size| number(offset, size).unwrap_or(0);
        if bytes.len() < LEAST_BYTES {
            return None;
        }
        let flags = number(40, 8)?;
        // Bit fields begin with the most significant bit on machines of this byte order.
        let flags = if order == ByteOrder::Big { flags.reverse_bits() } else { flags };
        Some(Self {
            kind: number(0, 4)? as u32,
            config: number(8, 8)?,
            rate: number(16, 8)?,
            sample_type: number(24, 8)?,
            read_format: number(32, 8)?,
            flags,
            details: [later(52, 4), later(56, 8), later(64, 8)],
            branch_type: later(72, 8),
            registers: later(80, 8),
            clock: later(92, 4) as u32,
            ..Self::default()
        })
    }

    /// Parses the structure, which has its own size, before the ids of the event.
    pub(super) fn parse_with_ids(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let size = usize::try_from(order.number_at(bytes, 4, 4)?).ok()?;
        let (attribute, ids) = bytes.split_at_checked(size)?;
        let ids = numbers(ids, order).collect();
        Some(Self { ids, ..Self::parse(attribute, order)? })
    }

    /// Returns whether records other than samples have a `sample_id`.
    pub(super) fn has_sample_ids(&self) -> bool {
        self.flags & SAMPLE_ID_ALL != 0
    }

    /// Returns whether it has a record for each context switch.
    pub(super) fn has_switches(&self) -> bool {
        self.flags & CONTEXT_SWITCH != 0
    }

    /// Returns whether it is of threads and ends with each, and not of CPUs.
    pub(super) fn is_of_threads(&self) -> bool {
        self.flags & INHERIT != 0
    }

    /// Returns the number of events of each sample, if it does not vary.
    pub(super) fn period(&self) -> Option<u64> {
        (self.flags & FREQUENCY == 0).then_some(self.rate)
    }

    /// Returns whether it is a clock of the kernel, whose samples have one period.
    pub(super) fn is_clock(&self) -> bool {
        CLOCKS.contains(&(self.kind, self.config))
    }

    pub(super) fn is_tracepoint(&self) -> bool {
        self.kind == TRACEPOINT
    }

    /// Returns whether it takes samples that are no tracepoints.
    pub(super) fn is_sampled(&self) -> bool {
        !self.is_tracepoint() && self.rate > 0 && (self.kind, self.config) != DUMMY
    }

    /// Returns whether both count the same: some processors have two kinds of cores, each with its
    /// own event, whose upper half is the kind.
    pub(super) fn counts_like(&self, other: &Self) -> bool {
        let number = |it: &Self| match it.kind {
            HARDWARE | CACHE => it.config & 0xffff_ffff,
            _ => it.config,
        };
        (self.kind, number(self), self.details) == (other.kind, number(other), other.details)
    }

    /// Returns the id of the clock of its times; `None` for the clock of perf.
    pub(super) fn clock(&self) -> Option<u32> {
        (self.flags & USE_CLOCKID != 0).then_some(self.clock)
    }

    /// Returns its name, or its numbers.
    pub(super) fn label(&self) -> String {
        match self.name.is_empty() {
            true => format!("event {}:{:#x}", self.kind, self.config),
            false => self.name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_other_byte_order_are_reversed() {
        let mut little = [0; 96];
        little[40..48].copy_from_slice(&(SAMPLE_ID_ALL | USE_CLOCKID).to_le_bytes());
        little[92] = 4;
        let mut big = [0; 96];
        let flags = (SAMPLE_ID_ALL | USE_CLOCKID).reverse_bits();
        big[40..48].copy_from_slice(&flags.to_be_bytes());
        big[95] = 4;
        let parsed = Attribute::parse(&little, ByteOrder::Little).unwrap();
        assert!(parsed.has_sample_ids() && !parsed.has_switches());
        assert_eq!(parsed.clock(), Some(4));
        assert_eq!(Attribute::parse(&big, ByteOrder::Big).unwrap(), parsed);
        for length in 0..LEAST_BYTES {
            assert_eq!(Attribute::parse(&little[..length], ByteOrder::Little), None);
        }
    }

    #[test]
    fn cores_of_two_kinds_count_the_same() {
        let event = |kind, config| Attribute { kind, config, rate: 1, ..Attribute::default() };
        assert!(event(0, 4 << 32).counts_like(&event(0, 8 << 32)));
        assert!(event(3, 4 << 32).counts_like(&event(3, 8 << 32)));
        let breakpoint = |details| Attribute { details, ..event(5, 0) };
        assert!(breakpoint([2, 9, 4]).counts_like(&breakpoint([2, 9, 4])));
        for other in [[1, 9, 4], [2, 8, 4], [2, 9, 1]] {
            assert!(!breakpoint([2, 9, 4]).counts_like(&breakpoint(other)));
        }
        assert!(!event(0, 1).counts_like(&event(0, 2)));
        assert!(!event(4, 4 << 32).counts_like(&event(4, 8 << 32)));
        assert!(event(0, 0).is_sampled() && !event(1, 9).is_sampled() && !event(2, 5).is_sampled());
    }
}
