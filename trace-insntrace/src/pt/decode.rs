//! Decoding of single packets.
//!
//! Bytes are not trusted. Each size is checked against the available bytes, a malformed packet
//! returns an error, and no memory is allocated. Reserved bits are ignored if libipt ignores them.

mod extended;

use core::fmt;

use super::head::Head;
use super::layout::{
    cyc_next, first, low_bytes, mode, opcode, payload_bytes, tsc, CYC_FIRST_BITS, CYC_MAX_BITS,
    CYC_NEXT_BITS, MAX_PACKET_BYTES,
};
use super::packet::{ExecMode, Packet, TsxMode};

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
    with_packet(bytes, |packet, size| (packet, size))
}

/// Calls `then` with the packet that `bytes` start with and its size. It is called in several
/// places, so that a packet is used where it is made: to copy values of several types takes longer
/// than to decode them.
#[inline]
pub(super) fn with_packet<T>(
    bytes: &[u8],
    then: impl FnOnce(Packet, usize) -> T,
) -> Result<T, DecodeError> {
    // Most packets: all of the bytes that the first one may announce are there.
    if let Some([byte, payload @ ..]) = bytes.first_chunk::<9>() {
        let word = u64::from_le_bytes(*payload);
        match Head::of(*byte) {
            Head::Tnt(tnt) => return Ok(then(Packet::Tnt(tnt), 1)),
            Head::Ip(head) => return Ok(then(head.packet(word), head.size())),
            Head::Time => {
                return Ok(then(Packet::Tsc(tsc::Value::get(word)), 1 + payload_bytes::TSC));
            }
            Head::Mode => return Ok(then(mode_packet(word)?, 1 + payload_bytes::MODE)),
            Head::Extended | Head::Other => {}
        }
    }
    any_packet(bytes).map(|(packet, size)| then(packet, size))
}

/// Decodes packets of all kinds, in any number of bytes.
fn any_packet(bytes: &[u8]) -> Decoded {
    let byte = *bytes.first().ok_or(DecodeError::Truncated)?;
    match Head::of(byte) {
        Head::Tnt(tnt) => Ok((Packet::Tnt(tnt), 1)),
        Head::Ip(head) => plain(bytes, head.size() - 1, |ip| head.packet(ip)),
        Head::Time => plain(bytes, payload_bytes::TSC, Packet::Tsc),
        Head::Mode => {
            let (payload, size) = payload(bytes, 1, payload_bytes::MODE)?;
            Ok((mode_packet(payload)?, size))
        }
        Head::Extended => extended::packet(bytes),
        Head::Other if byte == opcode::PAD => Ok((Packet::Pad, 1)),
        Head::Other if byte == opcode::MTC => {
            plain(bytes, payload_bytes::MTC, |ctc| Packet::Mtc(ctc as u8))
        }
        Head::Other if first::IsCyc::get(byte.into()) == first::CYC => cyc(bytes),
        Head::Other => Err(unknown(byte)),
    }
}

fn unknown(byte: u8) -> DecodeError {
    let kinds = [first::TIP, first::TIP_PGE, first::TIP_PGD, first::FUP];
    let is_ip = kinds.contains(&first::IpKind::get(byte.into()));
    if is_ip {
        malformed("IP")
    } else {
        DecodeError::UnknownOpcode(byte)
    }
}

#[inline]
fn mode_packet(payload: u64) -> Result<Packet, DecodeError> {
    match mode::Leaf::get(payload) {
        mode::EXEC => Ok(Packet::ModeExec(ExecMode {
            long: mode::Long::get(payload) == 1,
            default_32: mode::Default32::get(payload) == 1,
            interrupts: mode::Interrupts::get(payload) == 1,
        })),
        mode::TSX => Ok(Packet::ModeTsx(TsxMode {
            in_transaction: mode::InTransaction::get(payload) == 1,
            aborted: mode::Aborted::get(payload) == 1,
        })),
        _ => Err(malformed("MODE")),
    }
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

const fn malformed(packet: &'static str) -> DecodeError {
    DecodeError::Malformed { packet }
}

/// Decodes a packet with an opcode of one byte.
#[inline]
fn plain(bytes: &[u8], count: usize, packet: impl FnOnce(u64) -> Packet) -> Decoded {
    let (payload, size) = payload(bytes, 1, count)?;
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
