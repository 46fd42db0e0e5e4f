//! The position of each bit of an Intel PT packet.
//!
//! All opcodes, bit ranges and sizes are defined here, from chapter "Intel Processor Trace" of the
//! Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3. A packet is an opcode of
//! one or two bytes and a payload. The payload's bytes, little endian, are one word. Its fields are
//! bit ranges with both ends included.

use trace_format::layout::Field;

/// The longest packet, in bytes: PSB.
pub const MAX_PACKET_BYTES: usize = PSB_BYTES;

/// The size of PSB, in bytes.
pub const PSB_BYTES: usize = 16;

/// The two bytes that PSB repeats. A packet that starts with them is a PSB.
pub const PSB_PATTERN: [u8; 2] = [opcode::EXTENDED, extended::PSB];

/// The whole PSB packet.
pub const PSB: [u8; PSB_BYTES] = {
    let mut bytes = [PSB_PATTERN[0]; PSB_BYTES];
    let mut at = 1;
    while at < PSB_BYTES {
        bytes[at] = PSB_PATTERN[1];
        at += 2;
    }
    bytes
};

/// The most branches in a short TNT packet.
pub const MAX_SHORT_TNT: u8 = 6;

/// The most branches in a long TNT packet.
pub const MAX_LONG_TNT: u8 = 47;

/// The entries of the return stack, which is used to compress returns.
pub const RETURN_STACK_ENTRIES: usize = 64;

/// Returns the low `count` bytes of `word`, at most eight.
#[inline]
pub(super) const fn low_bytes(word: u64, count: usize) -> u64 {
    match u64::MAX.checked_shr(u64::BITS - 8 * count as u32) {
        Some(mask) => word & mask,
        None => 0,
    }
}

/// The first byte of packets whose opcode fills the byte.
pub mod opcode {
    /// Padding, the whole packet.
    pub const PAD: u8 = 0x00;
    /// The opcode continues in the second byte; see [`extended`](super::extended).
    pub const EXTENDED: u8 = 0x02;
    /// The time stamp counter.
    pub const TSC: u8 = 0x19;
    /// The mini time counter.
    pub const MTC: u8 = 0x59;
    /// The execution or TSX mode.
    pub const MODE: u8 = 0x99;
}

/// The first byte of packets that share it with a part of their payload.
pub mod first {
    use super::Field;

    /// 0 in a short TNT packet, and in [`opcode::PAD`](super::opcode::PAD) and
    /// [`opcode::EXTENDED`](super::opcode::EXTENDED).
    pub type IsNotTnt = Field<0, 0>;
    /// The branches of a short TNT packet, below a stop bit.
    pub type Tnt = Field<1, 7>;

    /// [`CYC`] in a cycle count packet.
    pub type IsCyc = Field<0, 1>;
    /// The value of [`IsCyc`] in a cycle count packet.
    pub const CYC: u64 = 0b11;
    /// Whether another byte of the cycle count follows.
    pub type CycMore = Field<2, 2>;
    /// The low bits of the cycle count.
    pub type CycLow = Field<3, 7>;

    /// The kind of a packet with an IP: [`TIP`], [`TIP_PGE`], [`TIP_PGD`] or [`FUP`].
    pub type IpKind = Field<0, 4>;
    /// The [`Compression`](super::Compression) of the IP.
    pub type IpCompression = Field<5, 7>;
    /// Target IP.
    pub const TIP: u64 = 0x0d;
    /// Target IP, packet generation enabled.
    pub const TIP_PGE: u64 = 0x11;
    /// Target IP, packet generation disabled.
    pub const TIP_PGD: u64 = 0x01;
    /// Flow update.
    pub const FUP: u64 = 0x1d;
}

/// A further byte of a cycle count packet.
pub mod cyc_next {
    use super::Field;
    /// Whether another byte follows.
    pub type More = Field<0, 0>;
    /// The next higher bits of the cycle count.
    pub type Bits = Field<1, 7>;
}

/// The bits of a cycle count in the packet's first byte.
pub const CYC_FIRST_BITS: u32 = 5;

/// The bits of a cycle count in each further byte.
pub const CYC_NEXT_BITS: u32 = 7;

/// The most bits of a cycle count that are read or written: eight further bytes.
pub const CYC_MAX_BITS: u32 = CYC_FIRST_BITS + 8 * CYC_NEXT_BITS;

/// The second byte of a packet that starts with [`opcode::EXTENDED`].
pub mod extended {
    use super::Field;

    /// Core to bus ratio.
    pub const CBR: u8 = 0x03;
    /// Control flow event.
    pub const CFE: u8 = 0x13;
    /// Power state entry.
    pub const PWRE: u8 = 0x22;
    /// The end of PSB+.
    pub const PSBEND: u8 = 0x23;
    /// Paging information.
    pub const PIP: u8 = 0x43;
    /// Event data.
    pub const EVD: u8 = 0x53;
    /// Execution stopped, without an IP.
    pub const EXSTOP: u8 = 0x62;
    /// TSC and MTC alignment.
    pub const TMA: u8 = 0x73;
    /// Packet stream boundary.
    pub const PSB: u8 = 0x82;
    /// Trace stopped.
    pub const TRACE_STOP: u8 = 0x83;
    /// Power state exit.
    pub const PWRX: u8 = 0xa2;
    /// Long taken/not taken.
    pub const TNT: u8 = 0xa3;
    /// An MWAIT that entered a power state.
    pub const MWAIT: u8 = 0xc2;
    /// The opcode continues in the third byte, [`MNT`].
    pub const MORE: u8 = 0xc3;
    /// The third byte of the maintenance packet.
    pub const MNT: u8 = 0x88;
    /// The VMCS's base address.
    pub const VMCS: u8 = 0xc8;
    /// Execution stopped, with an IP in the following FUP.
    pub const EXSTOP_IP: u8 = 0xe2;
    /// Overflow: packets were lost.
    pub const OVF: u8 = 0xf3;

    /// [`PTW`] in a PTWRITE packet.
    pub type PtwKind = Field<0, 4>;
    /// The value of [`PtwKind`] in a PTWRITE packet.
    pub const PTW: u64 = 0x12;
    /// The payload's size: [`PTW_4_BYTES`] or [`PTW_8_BYTES`].
    pub type PtwSize = Field<5, 6>;
    /// A payload of four bytes.
    pub const PTW_4_BYTES: u64 = 0;
    /// A payload of eight bytes.
    pub const PTW_8_BYTES: u64 = 1;
    /// Whether the following FUP has the instruction's IP.
    pub type PtwIp = Field<7, 7>;
}

/// The fixed sizes of payloads, in bytes.
pub mod payload_bytes {
    /// Of CBR; the second byte is reserved.
    pub const CBR: usize = 2;
    /// Of CFE.
    pub const CFE: usize = 2;
    /// Of EVD's type; the value follows.
    pub const EVD_TYPE: usize = 1;
    /// Of EVD's value.
    pub const EVD_VALUE: usize = 8;
    /// Of MNT.
    pub const MNT: usize = 8;
    /// Of MODE.
    pub const MODE: usize = 1;
    /// Of MTC.
    pub const MTC: usize = 1;
    /// Of MWAIT.
    pub const MWAIT: usize = 8;
    /// Of PIP.
    pub const PIP: usize = 6;
    /// Of PWRE.
    pub const PWRE: usize = 2;
    /// Of PWRX.
    pub const PWRX: usize = 5;
    /// Of TMA.
    pub const TMA: usize = 5;
    /// Of the long TNT.
    pub const TNT: usize = 6;
    /// Of TSC.
    pub const TSC: usize = 7;
    /// Of VMCS.
    pub const VMCS: usize = 5;
}

/// The payload of TSC.
pub mod tsc {
    use super::Field;
    /// The low bits of the time stamp counter.
    pub type Value = Field<0, 55>;
}

/// The payload of CBR.
pub mod cbr {
    use super::Field;
    /// The core's clock as a multiple of the bus clock.
    pub type Ratio = Field<0, 7>;
}

/// The payload of TMA.
pub mod tma {
    use super::Field;
    /// The low bits of the crystal clock's counter.
    pub type Ctc = Field<0, 15>;
    /// Zero.
    pub type Reserved = Field<16, 23>;
    /// Ticks of the TSC since the crystal clock's last tick.
    pub type FastCounter = Field<24, 32>;
    /// Zero.
    pub type ReservedEnd = Field<33, 39>;
}

/// The payload of MODE.
pub mod mode {
    use super::Field;
    /// The kind of mode: [`EXEC`] or [`TSX`].
    pub type Leaf = Field<5, 7>;
    /// The mode of execution.
    pub const EXEC: u64 = 0;
    /// The state of a transaction.
    pub const TSX: u64 = 1;

    /// CS.L and EFER.LMA: 64-bit code.
    pub type Long = Field<0, 0>;
    /// CS.D: 32-bit code, where [`Long`] is 0.
    pub type Default32 = Field<1, 1>;
    /// RFLAGS.IF, with event tracing.
    pub type Interrupts = Field<2, 2>;

    /// Whether execution is in a transaction.
    pub type InTransaction = Field<0, 0>;
    /// Whether the transaction was aborted.
    pub type Aborted = Field<1, 1>;
}

/// The payload of PIP.
pub mod pip {
    use super::Field;
    /// Whether the CPU runs in VMX non-root operation.
    pub type NonRoot = Field<0, 0>;
    /// CR3 without its low [`CR3_SHIFT`] bits.
    pub type Cr3 = Field<1, 47>;
    /// The low bits of CR3 that are omitted.
    pub const CR3_SHIFT: u32 = 5;
}

/// The payload of VMCS.
pub mod vmcs {
    use super::Field;
    /// The base address without its low [`BASE_SHIFT`] bits.
    pub type Base = Field<0, 39>;
    /// The low bits of the base address that are omitted.
    pub const BASE_SHIFT: u32 = 12;
}

/// The payload of MWAIT.
pub mod mwait {
    use super::Field;
    /// The hints, from EAX.
    pub type Hints = Field<0, 31>;
    /// The extensions, from ECX.
    pub type Extensions = Field<32, 63>;
}

/// The payload of PWRE.
pub mod pwre {
    use super::Field;
    /// Whether the hardware started it, not MWAIT.
    pub type Hardware = Field<7, 7>;
    /// The thread's sub C-state.
    pub type SubState = Field<8, 11>;
    /// The thread's C-state.
    pub type State = Field<12, 15>;
}

/// The payload of PWRX.
pub mod pwrx {
    use super::Field;
    /// The deepest C-state of the core.
    pub type Deepest = Field<0, 3>;
    /// The last C-state of the core.
    pub type Last = Field<4, 7>;
    /// Woken by an interrupt.
    pub type Interrupt = Field<8, 8>;
    /// Woken by a store to the monitored address.
    pub type Store = Field<10, 10>;
    /// Woken by the hardware.
    pub type Hardware = Field<11, 11>;
}

/// The payload of CFE.
pub mod cfe {
    use super::Field;
    /// The type of the event.
    pub type Type = Field<0, 4>;
    /// Whether the following FUP has the event's IP.
    pub type Ip = Field<7, 7>;
    /// The vector of an interrupt or exception.
    pub type Vector = Field<8, 15>;
}

/// The first byte of the payload of EVD.
pub mod evd {
    use super::Field;
    /// The type of the value.
    pub type Type = Field<0, 5>;
}

/// The number of bits of an IP in a packet, and the source of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Compression {
    /// There is no IP.
    Suppressed = 0,
    /// The low 16 bits; the others are those of the last IP.
    Update16 = 1,
    /// The low 32 bits; the others are those of the last IP.
    Update32 = 2,
    /// The low 48 bits; the others equal bit 47.
    Extend48 = 3,
    /// The low 48 bits; the others are those of the last IP.
    Update48 = 4,
    /// All bits.
    Full = 6,
}

impl Compression {
    /// Every kind of compression.
    pub const ALL: [Self; 6] = [
        Self::Suppressed,
        Self::Update16,
        Self::Update32,
        Self::Extend48,
        Self::Update48,
        Self::Full,
    ];

    /// Returns the kind for a field's value, or `None` for a reserved value.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Self::Suppressed),
            1 => Some(Self::Update16),
            2 => Some(Self::Update32),
            3 => Some(Self::Extend48),
            4 => Some(Self::Update48),
            6 => Some(Self::Full),
            _ => None,
        }
    }

    /// Returns the number to be stored in a field.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self as u64
    }

    /// Returns the size of the IP in a packet, in bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Suppressed => 0,
            Self::Update16 => 2,
            Self::Update32 => 4,
            Self::Extend48 | Self::Update48 => 6,
            Self::Full => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psb_repeats_its_pattern() {
        assert_eq!(PSB, *b"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82");
    }

    #[test]
    fn compressions_have_their_numbers() {
        for compression in Compression::ALL {
            assert_eq!(Compression::from_bits(compression.bits()), Some(compression));
        }
        assert_eq!([5, 7, 8].map(Compression::from_bits), [None; 3]);
    }

    #[test]
    fn opcodes_differ_in_their_first_byte() {
        for byte in [opcode::PAD, opcode::EXTENDED] {
            assert_eq!(first::IsNotTnt::get(byte.into()), 0);
        }
        let kinds = [first::TIP, first::TIP_PGE, first::TIP_PGD, first::FUP];
        for byte in [opcode::TSC, opcode::MTC, opcode::MODE] {
            assert_ne!(first::IsCyc::get(byte.into()), first::CYC);
            assert!(!kinds.contains(&first::IpKind::get(byte.into())));
        }
        assert!(kinds.iter().all(|kind| first::IsCyc::get(*kind) != first::CYC));
    }
}
