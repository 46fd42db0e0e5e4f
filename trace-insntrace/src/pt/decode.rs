//! Decoding of single packets.
//!
//! Bytes are not trusted. Each size is checked against the available bytes, a malformed packet
//! returns an error, and no memory is allocated. Reserved bits are ignored if libipt ignores them.

use core::fmt;

use super::layout::{
    cbr, cfe, cyc_next, evd, extended, first, low_bytes, mode, mwait, opcode, payload_bytes, pip,
    pwre, pwrx, tma, vmcs, Compression, CYC_FIRST_BITS, CYC_MAX_BITS, CYC_NEXT_BITS,
    MAX_PACKET_BYTES, PSB, PSB_BYTES,
};
use super::packet::{ExecMode, Ip, Packet, PtWriteValue, Tnt, TsxMode, Wake};

/// Why bytes are not a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeError {
    /// The packet continues after the end of the bytes.
    Truncated,
    /// No packet starts with this byte.
    UnknownOpcode(u8),
    /// No packet has this byte after [`opcode::EXTENDED`].
    UnknownExtendedOpcode(u8),
    /// The packet has an invalid value.
    Malformed {
        /// The packet.
        packet: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the last packet is cut off"),
            Self::UnknownOpcode(byte) => write!(f, "unknown opcode 0x{byte:02x}"),
            Self::UnknownExtendedOpcode(byte) => {
                write!(f, "unknown opcode 0x{:02x} 0x{byte:02x}", opcode::EXTENDED)
            }
            Self::Malformed { packet } => write!(f, "malformed {packet} packet"),
        }
    }
}

impl core::error::Error for DecodeError {}

type Decoded = Result<(Packet, usize), DecodeError>;

/// Decodes the packet that `bytes` start with, and returns it with its size in bytes.
///
/// # Errors
///
/// Fails if `bytes` are not a packet, or are truncated. No packet is longer than
/// [`MAX_PACKET_BYTES`].
#[inline]
pub fn packet(bytes: &[u8]) -> Decoded {
    let byte = *bytes.first().ok_or(DecodeError::Truncated)?;
    let word = u64::from(byte);
    match byte {
        opcode::PAD => Ok((Packet::Pad, 1)),
        opcode::EXTENDED => extended_packet(bytes),
        _ if first::IsNotTnt::get(word) == 0 => {
            let tnt = Tnt::from_payload(first::Tnt::get(word)).ok_or(malformed("TNT"))?;
            Ok((Packet::Tnt(tnt), 1))
        }
        _ if first::IsCyc::get(word) == first::CYC => cyc(bytes),
        opcode::TSC => plain(bytes, payload_bytes::TSC, Packet::Tsc),
        opcode::MTC => plain(bytes, payload_bytes::MTC, |ctc| Packet::Mtc(ctc as u8)),
        opcode::MODE => mode_packet(bytes),
        _ => ip_packet(bytes, word),
    }
}

#[inline]
fn ip_packet(bytes: &[u8], word: u64) -> Decoded {
    let packet = match first::IpKind::get(word) {
        first::TIP => Packet::Tip,
        first::TIP_PGE => Packet::TipPge,
        first::TIP_PGD => Packet::TipPgd,
        first::FUP => Packet::Fup,
        _ => return Err(DecodeError::UnknownOpcode(word as u8)),
    };
    let compression = Compression::from_bits(first::IpCompression::get(word));
    let compression = compression.ok_or(malformed("IP"))?;
    plain(bytes, compression.bytes(), |ip| packet(Ip::new(compression, ip)))
}

fn mode_packet(bytes: &[u8]) -> Decoded {
    let (payload, size) = payload(bytes, 1, payload_bytes::MODE)?;
    let packet = match mode::Leaf::get(payload) {
        mode::EXEC => Packet::ModeExec(ExecMode {
            long: mode::Long::get(payload) == 1,
            default_32: mode::Default32::get(payload) == 1,
            interrupts: mode::Interrupts::get(payload) == 1,
        }),
        mode::TSX => Packet::ModeTsx(TsxMode {
            in_transaction: mode::InTransaction::get(payload) == 1,
            aborted: mode::Aborted::get(payload) == 1,
        }),
        _ => return Err(malformed("MODE")),
    };
    Ok((packet, size))
}

fn cyc(bytes: &[u8]) -> Decoded {
    let mut cycles = 0;
    let mut shift = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let byte = u64::from(*byte);
        let (more, bits, width) = match at {
            0 => (first::CycMore::get(byte), first::CycLow::get(byte), CYC_FIRST_BITS),
            _ => (cyc_next::More::get(byte), cyc_next::Bits::get(byte), CYC_NEXT_BITS),
        };
        if shift + width > CYC_MAX_BITS {
            return Err(malformed("CYC"));
        }
        cycles |= bits << shift;
        shift += width;
        if more == 0 {
            return Ok((Packet::Cyc(cycles), at + 1));
        }
    }
    Err(DecodeError::Truncated)
}

fn extended_packet(bytes: &[u8]) -> Decoded {
    let byte = *bytes.get(1).ok_or(DecodeError::Truncated)?;
    match byte {
        extended::TNT => long_tnt(bytes),
        extended::PSB => psb(bytes),
        extended::PSBEND => Ok((Packet::PsbEnd, 2)),
        extended::OVF => Ok((Packet::Ovf, 2)),
        extended::TRACE_STOP => Ok((Packet::TraceStop, 2)),
        extended::CBR => {
            extend(bytes, payload_bytes::CBR, |payload| Packet::Cbr(cbr::Ratio::get(payload) as u8))
        }
        extended::TMA => tma_packet(bytes),
        extended::PIP => extend(bytes, payload_bytes::PIP, |payload| Packet::Pip {
            cr3: pip::Cr3::get(payload) << pip::CR3_SHIFT,
            non_root: pip::NonRoot::get(payload) == 1,
        }),
        extended::VMCS => extend(bytes, payload_bytes::VMCS, |payload| Packet::Vmcs {
            base: vmcs::Base::get(payload) << vmcs::BASE_SHIFT,
        }),
        extended::MORE => mnt(bytes),
        _ => event_packet(bytes, byte),
    }
}

fn event_packet(bytes: &[u8], byte: u8) -> Decoded {
    match byte {
        extended::EXSTOP => Ok((Packet::ExStop { ip: false }, 2)),
        extended::EXSTOP_IP => Ok((Packet::ExStop { ip: true }, 2)),
        extended::MWAIT => extend(bytes, payload_bytes::MWAIT, |payload| Packet::Mwait {
            hints: mwait::Hints::get(payload) as u32,
            extensions: mwait::Extensions::get(payload) as u32,
        }),
        extended::PWRE => extend(bytes, payload_bytes::PWRE, |payload| Packet::PwrEntry {
            state: pwre::State::get(payload) as u8,
            sub_state: pwre::SubState::get(payload) as u8,
            hardware: pwre::Hardware::get(payload) == 1,
        }),
        extended::PWRX => extend(bytes, payload_bytes::PWRX, |payload| Packet::PwrExit {
            last: pwrx::Last::get(payload) as u8,
            deepest: pwrx::Deepest::get(payload) as u8,
            wake: wake(payload),
        }),
        extended::CFE => extend(bytes, payload_bytes::CFE, |payload| Packet::Cfe {
            event: cfe::Type::get(payload) as u8,
            vector: cfe::Vector::get(payload) as u8,
            ip: cfe::Ip::get(payload) == 1,
        }),
        extended::EVD => evd_packet(bytes),
        _ if extended::PtwKind::get(byte.into()) == extended::PTW => pt_write(bytes, byte.into()),
        _ => Err(DecodeError::UnknownExtendedOpcode(byte)),
    }
}

fn long_tnt(bytes: &[u8]) -> Decoded {
    let (payload, size) = payload(bytes, 2, payload_bytes::TNT)?;
    let tnt = Tnt::from_payload(payload).ok_or(malformed("TNT"))?;
    Ok((Packet::LongTnt(tnt), size))
}

/// A truncated PSB and a malformed one are different errors.
fn psb(bytes: &[u8]) -> Decoded {
    let found = bytes.get(..PSB_BYTES).unwrap_or(bytes);
    if !PSB.starts_with(found) {
        return Err(malformed("PSB"));
    }
    if found.len() < PSB_BYTES {
        return Err(DecodeError::Truncated);
    }
    Ok((Packet::Psb, PSB_BYTES))
}

fn tma_packet(bytes: &[u8]) -> Decoded {
    let (payload, size) = payload(bytes, 2, payload_bytes::TMA)?;
    if tma::Reserved::get(payload) != 0 || tma::ReservedEnd::get(payload) != 0 {
        return Err(malformed("TMA"));
    }
    let ctc = tma::Ctc::get(payload) as u16;
    let fast_counter = tma::FastCounter::get(payload) as u16;
    Ok((Packet::Tma { ctc, fast_counter }, size))
}

fn mnt(bytes: &[u8]) -> Decoded {
    let byte = *bytes.get(2).ok_or(DecodeError::Truncated)?;
    if byte != extended::MNT {
        return Err(DecodeError::UnknownExtendedOpcode(extended::MORE));
    }
    let (payload, size) = payload(bytes, 3, payload_bytes::MNT)?;
    Ok((Packet::Mnt(payload), size))
}

fn evd_packet(bytes: &[u8]) -> Decoded {
    let (kind, at) = payload(bytes, 2, payload_bytes::EVD_TYPE)?;
    let (value, size) = payload(bytes, at, payload_bytes::EVD_VALUE)?;
    Ok((Packet::Evd { kind: evd::Type::get(kind) as u8, value }, size))
}

fn pt_write(bytes: &[u8], second: u64) -> Decoded {
    let ip = extended::PtwIp::get(second) == 1;
    let (value, size) = match extended::PtwSize::get(second) {
        extended::PTW_4_BYTES => {
            let (payload, size) = payload(bytes, 2, 4)?;
            (PtWriteValue::U32(payload as u32), size)
        }
        extended::PTW_8_BYTES => {
            let (payload, size) = payload(bytes, 2, 8)?;
            (PtWriteValue::U64(payload), size)
        }
        _ => return Err(malformed("PTW")),
    };
    Ok((Packet::PtWrite { value, ip }, size))
}

fn wake(payload: u64) -> Wake {
    Wake {
        interrupt: pwrx::Interrupt::get(payload) == 1,
        store: pwrx::Store::get(payload) == 1,
        hardware: pwrx::Hardware::get(payload) == 1,
    }
}

const fn malformed(packet: &'static str) -> DecodeError {
    DecodeError::Malformed { packet }
}

/// Decodes a packet with an opcode of one byte.
#[inline]
fn plain(bytes: &[u8], count: usize, packet: impl FnOnce(u64) -> Packet) -> Decoded {
    let (payload, size) = payload(bytes, 1, count)?;
    Ok((packet(payload), size))
}

/// Decodes a packet with an opcode of two bytes.
fn extend(bytes: &[u8], count: usize, packet: impl FnOnce(u64) -> Packet) -> Decoded {
    let (payload, size) = payload(bytes, 2, count)?;
    Ok((packet(payload), size))
}

/// Returns `count` bytes from `at` on as a word, and their end.
#[inline]
fn payload(bytes: &[u8], at: usize, count: usize) -> Result<(u64, usize), DecodeError> {
    debug_assert!(at + count <= MAX_PACKET_BYTES && count <= 8);
    // One load of eight bytes, except near the end of the bytes.
    if let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        return Ok((low_bytes(u64::from_le_bytes(*word), count), at + count));
    }
    let rest = bytes.get(at..at + count).ok_or(DecodeError::Truncated)?;
    let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Ok((word, at + count))
}
