//! The records of a file of perf that concern Intel PT, and their fields.

/// The first bytes of a file, little endian.
pub(super) const MAGIC: &[u8; 8] = b"PERFILE2";

/// The size of a file's header.
pub(super) const HEADER_BYTES: u64 = 104;

/// The size of `perf_event_attr` in its version 5, of Linux 4.1.
pub(super) const ATTRIBUTE_BYTES: usize = 112;

/// Types of records.
pub(super) const COMM: u32 = 3;
pub(super) const MMAP2: u32 = 10;
pub(super) const ITRACE_START: u32 = 12;
pub(super) const AUXTRACE_INFO: u32 = 70;
pub(super) const AUXTRACE: u32 = 71;

/// The value of `misc` for records of user space.
pub(super) const MISC_USER: u16 = 2;

/// The type of AUX data in `AUXTRACE_INFO`.
pub(super) const INTEL_PT: u32 = 1;

/// The fields of `AUXTRACE_INFO`, by their place: the enumeration of perf's
/// `tools/perf/util/intel-pt.h`, which `intel_pt_info_fill` of
/// `tools/perf/arch/x86/util/intel-pt.c` writes.
pub(super) mod info {
    pub(in super::super) const PMU_TYPE: usize = 0;
    pub(in super::super) const TIME_SHIFT: usize = 1;
    pub(in super::super) const TIME_MULTIPLIER: usize = 2;
    pub(in super::super) const TIME_ZERO: usize = 3;
    pub(in super::super) const HAS_TIME_ZERO: usize = 4;
    /// The bits of `config`.
    pub(in super::super) const TSC_BIT: usize = 5;
    pub(in super::super) const UNCOMPRESSED_BIT: usize = 6;
    /// Whether each AUX data is a snapshot.
    pub(in super::super) const SNAPSHOT_MODE: usize = 8;
    pub(in super::super) const MTC_FREQUENCY_BITS: usize = 11;
    /// The ratio of the time stamp counter to the crystal clock.
    pub(in super::super) const TSC_CTC_NUMERATOR: usize = 12;
    pub(in super::super) const TSC_CTC_DENOMINATOR: usize = 13;
    /// The ratio of the highest frequency without turbo, in the unit of CBR packets:
    /// `INTEL_PT_MAX_NONTURBO_RATIO`, the number that `max_nonturbo_ratio` of sysfs has.
    pub(in super::super) const NOMINAL_RATIO: usize = 15;
    /// The number of fields, of which the last is the length of the filters.
    pub(in super::super) const COUNT: usize = 17;
}

/// How perf converts time stamps to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeConversion {
    pub(super) shift: u32,
    pub(super) multiplier: u32,
    pub(super) zero: u64,
}

impl TimeConversion {
    /// Returns the most exact conversion of a clock of this rate.
    pub(super) fn of_rate(ticks_per_second: u64) -> Self {
        let rate = u128::from(ticks_per_second.max(1));
        let multiplier = |shift: u32| u32::try_from((1_000_000_000_u128 << shift) / rate);
        let exact = (0..32).rev().find_map(|shift| Some((shift, multiplier(shift).ok()?)));
        let (shift, multiplier) = exact.unwrap_or((0, u32::MAX));
        Self { shift, multiplier, zero: 0 }
    }

    /// Returns the rate of the clock.
    pub(super) fn ticks_per_second(self) -> u64 {
        let rate = (1_000_000_000_u128 << self.shift.min(63)) / u128::from(self.multiplier.max(1));
        rate.try_into().unwrap_or(u64::MAX)
    }

    /// Returns the time stamp of a time in nanoseconds, as perf does; 0 for a time before
    /// the clock's start, such as that of records about existing processes.
    pub(super) fn ticks(self, nanos: u64) -> u64 {
        let (shift, multiplier) = (self.shift.min(63), u64::from(self.multiplier.max(1)));
        let nanos = u64::try_from(nanos.wrapping_sub(self.zero) as i64).unwrap_or(0);
        let (whole, rest) = (nanos / multiplier, nanos % multiplier);
        let part = (u128::from(rest) << shift) / u128::from(multiplier);
        whole.wrapping_shl(shift).wrapping_add(part as u64)
    }

    /// Returns the time of a time stamp in nanoseconds.
    pub(super) fn nanos(self, ticks: u64) -> u64 {
        let (shift, multiplier) = (self.shift.min(63), u64::from(self.multiplier));
        let (whole, rest) = (ticks >> shift, ticks & ((1 << shift) - 1));
        let part = (u128::from(rest) * u128::from(multiplier)) >> shift;
        self.zero.wrapping_add(whole.wrapping_mul(multiplier)).wrapping_add(part as u64)
    }
}

/// The fields of a record or a header.
#[derive(Debug, Default)]
pub(super) struct Fields(pub(super) Vec<u8>);

impl Fields {
    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn words(self, values: &[u64]) -> Self {
        values.iter().fold(self, |fields, value| fields.u64(*value))
    }

    /// Appends a text, with zeros up to a multiple of eight bytes.
    pub(super) fn text(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().take_while(|byte| *byte != 0));
        self.0.push(0);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    /// Returns a record with these fields. Their size is limited by that of paths.
    pub(super) fn record(self, kind: u32, misc: u16) -> Vec<u8> {
        let size = u16::try_from(8 + self.0.len()).expect("records are short");
        let header = Self::default().u32(kind).u16(misc).u16(size);
        [header.0, self.0].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_become_nanoseconds() {
        for rate in [1, 1_000, 1_000_000_000, 2_000_000_000, 2_699_999_761] {
            let conversion = TimeConversion::of_rate(rate);
            let ticks = rate.saturating_mul(3);
            let expected = u128::from(ticks) * 1_000_000_000 / u128::from(rate);
            let error = u128::from(conversion.nanos(ticks)).abs_diff(expected);
            assert!(rate < 1_000 || error <= 8, "{rate}: {error} ns in 3 s");
            assert_eq!((conversion.nanos(0), conversion.ticks(0)), (0, 0));
            let back = conversion.ticks(conversion.nanos(ticks));
            assert!(rate < 1_000 || back.abs_diff(ticks) <= rate >> 28, "{rate}: {back}");
            let found = conversion.ticks_per_second();
            assert!(rate < 1_000 || found.abs_diff(rate) <= rate >> 28, "{rate}: {found}");
        }
        let two = TimeConversion::of_rate(2_000_000_000);
        assert_eq!([10, 11, 12].map(|ticks| two.nanos(ticks)), [5, 5, 6]);
        let late = TimeConversion { zero: 1_000, ..two };
        assert_eq!([0, 999, 1_000, 1_005].map(|nanos| late.ticks(nanos)), [0, 0, 0, 10]);
        // The clock began before that of the nanoseconds.
        let early = TimeConversion { zero: 5_u64.wrapping_neg(), ..two };
        assert_eq!([0, 5].map(|nanos| early.ticks(nanos)), [10, 20]);
    }
}
