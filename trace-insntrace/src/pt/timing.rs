//! The crystal clock of a processor.

/// The number of bits of an MTC packet.
const MTC_BITS: u32 = 8;

/// The number of bits of the crystal clock in a TMA packet.
pub(super) const TMA_BITS: u32 = 16;

/// What is required to know the time of packets beside their time stamps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// MTC packets come every 2^`mtc_period` ticks of the crystal clock; at most 15.
    pub mtc_period: u8,
    /// Ticks of the time stamp counter in so many ticks of the crystal clock. Without this ratio,
    /// MTC packets do not refine the time.
    pub crystal: Option<(u32, u32)>,
    /// The ratio of the processor's highest frequency without turbo, in the unit of CBR packets.
    pub nominal: Option<u8>,
}

impl Timing {
    /// Returns the number of ticks of the time stamp counter in ticks of the crystal clock.
    pub(super) fn ticks(&self, crystal: u32) -> Option<u64> {
        let (counter, clock) = self.crystal?;
        (u64::from(crystal) * u64::from(counter)).checked_div(clock.into())
    }

    /// Returns the ticks of the crystal clock of an MTC packet, of which it has some bits.
    pub(super) fn of_mtc(&self, value: u8) -> u32 {
        u32::from(value) << self.period()
    }

    /// Returns the ticks between two MTC packets, of which the later one may have wrapped once.
    pub(super) fn between(&self, former: u32, later: u32) -> u32 {
        let wrap = if later < former { 1 << self.bits() } else { 0 };
        (later + wrap).saturating_sub(former)
    }

    fn period(&self) -> u32 {
        u32::from(self.mtc_period & 0xf)
    }

    /// Returns the number of bits of the crystal clock that MTC packets tell apart.
    pub(super) fn bits(&self) -> u32 {
        self.period() + MTC_BITS
    }
}
