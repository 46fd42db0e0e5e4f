//! One packet as a value.

use core::fmt;
use core::num::NonZero;

use super::layout::{low_bytes, mode, Compression, MAX_LONG_TNT, MAX_SHORT_TNT};

/// A packet of an Intel PT stream.
///
/// If a value has more bits than the packet's field, the encoder drops the higher ones, as the
/// hardware does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packet {
    /// Padding.
    Pad,
    /// Conditional branches and compressed returns, in one byte.
    Tnt(Tnt),
    /// Conditional branches and compressed returns, in eight bytes.
    LongTnt(Tnt),
    /// The target of an indirect branch, an interrupt or an exception.
    Tip(Ip),
    /// Tracing starts at this IP.
    TipPge(Ip),
    /// Tracing ends; the IP, if any, is the first that is not traced.
    TipPgd(Ip),
    /// The IP of an asynchronous event.
    Fup(Ip),
    /// The execution mode from the next target on.
    ModeExec(ExecMode),
    /// The state of a transaction.
    ModeTsx(TsxMode),
    /// The time stamp counter, 56 bits.
    Tsc(u64),
    /// Eight bits of the crystal clock's counter.
    Mtc(u8),
    /// The alignment of the crystal clock and the time stamp counter.
    Tma {
        /// The low bits of the crystal clock's counter.
        ctc: u16,
        /// Ticks of the time stamp counter since the crystal clock's last tick, 9 bits.
        fast_counter: u16,
    },
    /// Core clock cycles since the last cycle count, 61 bits.
    Cyc(u64),
    /// The ratio of the core's clock to the bus clock.
    Cbr(u8),
    /// The address space.
    Pip {
        /// CR3, bits 5 to 51.
        cr3: u64,
        /// Whether the CPU runs in VMX non-root operation.
        non_root: bool,
    },
    /// The virtual machine.
    Vmcs {
        /// The base address of the VMCS, bits 12 to 51.
        base: u64,
    },
    /// The boundary at which decoding can start.
    Psb,
    /// The end of the state that follows PSB.
    PsbEnd,
    /// Packets were lost.
    Ovf,
    /// Tracing was stopped by an address range.
    TraceStop,
    /// Model-specific data.
    Mnt(u64),
    /// Execution stopped for a power state.
    ExStop {
        /// Whether a FUP with the IP follows.
        ip: bool,
    },
    /// An MWAIT.
    Mwait {
        /// Its hints.
        hints: u32,
        /// Its extensions.
        extensions: u32,
    },
    /// A thread enters a power state.
    PwrEntry {
        /// The C-state, 4 bits.
        state: u8,
        /// The sub C-state, 4 bits.
        sub_state: u8,
        /// Whether the hardware started it.
        hardware: bool,
    },
    /// A thread leaves a power state.
    PwrExit {
        /// The core's last C-state, 4 bits.
        last: u8,
        /// The core's deepest C-state, 4 bits.
        deepest: u8,
        /// The reason for the wake-up.
        wake: Wake,
    },
    /// The operand of PTWRITE.
    PtWrite {
        /// The operand.
        value: PtWriteValue,
        /// Whether a FUP with the instruction's IP follows.
        ip: bool,
    },
    /// An interrupt, an exception or another event.
    Cfe {
        /// Its type, 5 bits.
        event: u8,
        /// The vector of an interrupt or exception.
        vector: u8,
        /// Whether a FUP with the IP follows.
        ip: bool,
    },
    /// A value that belongs to an event.
    Evd {
        /// The type of the value, 6 bits.
        kind: u8,
        /// The value.
        value: u64,
    },
}

impl Packet {
    /// Adds bits to the payload of a packet whose payload is one word. Such words have the same
    /// place in each packet, so that the packets' kinds, which cannot be predicted, take no branch.
    #[inline]
    #[must_use]
    pub(super) fn with_payload(mut self, bits: u64) -> Self {
        match &mut self {
            Self::Tnt(tnt) => tnt.payload |= bits,
            Self::Tip(ip) | Self::TipPge(ip) | Self::TipPgd(ip) | Self::Fup(ip) => ip.bits |= bits,
            Self::ModeExec(mode) => mode.bits |= bits,
            Self::Tsc(ticks) => *ticks |= bits,
            _ => {}
        }
        self
    }
}

/// Results of conditional branches, the oldest first. A compressed return is a taken branch.
///
/// There is at least one, and at most [`MAX_LONG_TNT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tnt {
    /// The results, the oldest one highest, with a one above them, as in the packet.
    payload: NonZero<u64>,
}

impl Tnt {
    /// Returns the low `count` bits of `bits` as results, the oldest one highest, or `None` if
    /// `count` is not in `1 ..= 47`.
    #[inline]
    #[must_use]
    pub const fn new(bits: u64, count: u8) -> Option<Self> {
        if count == 0 || count > MAX_LONG_TNT {
            return None;
        }
        Self::from_payload(1 << count | bits & ((1 << count) - 1))
    }

    /// Returns the results in a packet's payload: those below the highest bit that is set.
    #[inline]
    #[must_use]
    pub(super) const fn from_payload(payload: u64) -> Option<Self> {
        match NonZero::new(payload) {
            Some(payload) if payload.get() > 1 => Some(Self { payload }),
            _ => None,
        }
    }

    /// Returns the results with a stop bit above them.
    #[inline]
    #[must_use]
    pub(super) const fn to_payload(self) -> u64 {
        self.payload.get()
    }

    /// Returns the results as bits, the oldest one highest.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.payload.get() ^ 1 << self.payload.ilog2()
    }

    /// Returns the number of results.
    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // It is never empty.
    pub const fn len(self) -> u8 {
        self.payload.ilog2() as u8
    }

    /// Returns the most results of a packet.
    #[must_use]
    pub(super) const fn max_len(long: bool) -> u8 {
        if long {
            MAX_LONG_TNT
        } else {
            MAX_SHORT_TNT
        }
    }

    /// Returns whether a short packet has room for the results.
    #[inline]
    #[must_use]
    pub const fn is_short(self) -> bool {
        self.len() <= MAX_SHORT_TNT
    }
}

/// An IP in the form of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ip {
    compression: Compression,
    bits: u64,
}

impl Ip {
    /// No IP.
    pub const SUPPRESSED: Self = Self { compression: Compression::Suppressed, bits: 0 };

    /// Returns the bits of `ip` that `compression` keeps.
    #[inline]
    #[must_use]
    pub const fn new(compression: Compression, ip: u64) -> Self {
        Self { compression, bits: low_bytes(ip, compression.bytes()) }
    }

    /// Returns `ip` in the fewest bytes from which a reader that knows `last` restores it.
    #[inline]
    #[must_use]
    pub const fn compress(ip: u64, last: u64) -> Self {
        let changed = ip ^ last;
        let compression = if changed >> 16 == 0 {
            Compression::Update16
        } else if changed >> 32 == 0 {
            Compression::Update32
        } else if sign_extend_48(ip) == ip {
            Compression::Extend48
        } else if changed >> 48 == 0 {
            Compression::Update48
        } else {
            Compression::Full
        };
        Self::new(compression, ip)
    }

    /// Returns the whole IP if the last one is `last`, or `None` if it is suppressed.
    #[inline]
    #[must_use]
    pub const fn resolve(self, last: u64) -> Option<u64> {
        match self.compression {
            Compression::Suppressed => None,
            Compression::Extend48 => Some(sign_extend_48(self.bits)),
            Compression::Full => Some(self.bits),
            Compression::Update16 => Some(last >> 16 << 16 | self.bits),
            Compression::Update32 => Some(last >> 32 << 32 | self.bits),
            Compression::Update48 => Some(last >> 48 << 48 | self.bits),
        }
    }

    /// Returns how the IP is compressed.
    #[inline]
    #[must_use]
    pub const fn compression(self) -> Compression {
        self.compression
    }

    /// Returns the bits in the packet.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.bits
    }
}

const fn sign_extend_48(ip: u64) -> u64 {
    ((ip << 16) as i64 >> 16) as u64
}

/// The execution mode that [`Packet::ModeExec`] announces.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExecMode {
    /// The payload of the packet, a word as in other common packets: see [`Packet::with_payload`].
    bits: u64,
}

impl ExecMode {
    /// 64-bit code.
    pub const LONG: Self = Self::new(true, false);

    /// Returns the mode of code with CS.L `long` and CS.D `default_32`. RFLAGS.IF is 0.
    #[must_use]
    pub const fn new(long: bool, default_32: bool) -> Self {
        Self { bits: mode::Long::make(long as u64) | mode::Default32::make(default_32 as u64) }
    }

    /// Sets RFLAGS.IF, which packets have with event tracing only.
    #[must_use]
    pub const fn with_interrupts(self, interrupts: bool) -> Self {
        let others = self.bits & !mode::Interrupts::make(1);
        Self { bits: others | mode::Interrupts::make(interrupts as u64) }
    }

    /// Returns the mode of a payload that has no other bits.
    pub(super) const fn from_payload(bits: u64) -> Self {
        Self { bits }
    }

    /// Returns the bits of the payload.
    pub(super) const fn to_payload(self) -> u64 {
        self.bits
    }

    /// Returns CS.L and EFER.LMA.
    #[must_use]
    pub const fn long(self) -> bool {
        mode::Long::get(self.bits) == 1
    }

    /// Returns CS.D.
    #[must_use]
    pub const fn default_32(self) -> bool {
        mode::Default32::get(self.bits) == 1
    }

    /// Returns RFLAGS.IF.
    #[must_use]
    pub const fn interrupts(self) -> bool {
        mode::Interrupts::get(self.bits) == 1
    }

    /// Returns 16, 32 or 64, or `None` if the bits contradict each other.
    #[must_use]
    pub const fn bitness(self) -> Option<u32> {
        match (self.long(), self.default_32()) {
            (true, false) => Some(64),
            (false, true) => Some(32),
            (false, false) => Some(16),
            (true, true) => None,
        }
    }
}

impl fmt::Debug for ExecMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecMode")
            .field("long", &self.long())
            .field("default_32", &self.default_32())
            .field("interrupts", &self.interrupts())
            .finish()
    }
}

/// The state of a transaction that [`Packet::ModeTsx`] announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TsxMode {
    /// Whether execution is in a transaction.
    pub in_transaction: bool,
    /// Whether the transaction was aborted.
    pub aborted: bool,
}

/// The reason for leaving a power state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Wake {
    /// An interrupt.
    pub interrupt: bool,
    /// A store to the monitored address.
    pub store: bool,
    /// The hardware.
    pub hardware: bool,
}

/// The operand of a PTWRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PtWriteValue {
    /// An operand of four bytes.
    U32(u32),
    /// An operand of eight bytes.
    U64(u64),
}
