//! Decoding of single packets.
//!
//! Bytes are not trusted. Each size is checked against the available bytes, a malformed packet
//! returns an error, and no memory is allocated. Reserved bits are ignored if libipt ignores them.

mod extended;

use core::fmt;

use super::head;
use super::layout::{
    cyc_next, first, low_bytes, mode, opcode, payload_bytes, CYC_FIRST_BITS, CYC_MAX_BITS,
    CYC_NEXT_BITS, MAX_PACKET_BYTES,
};
use super::packet::{Packet, TsxMode};

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

/// Calls `then` with the packet that `bytes` start with and its size. It is called in two places,
/// so that a common packet is used where it is made: copying packets of all kinds takes longer than
/// decoding it.
#[inline]
pub(super) fn with_packet<T>(
    bytes: &[u8],
    then: impl FnOnce(Packet, usize) -> T,
) -> Result<T, DecodeError> {
    // Most packets: all of the bytes that the first one may announce are there.
    if let Some([byte, word @ ..]) = bytes.first_chunk::<{ head::MAX_BYTES }>() {
        if let Some((packet, size)) = head::common(*byte, u64::from_le_bytes(*word)) {
            return Ok(then(packet, size));
        }
    }
    any_packet(bytes).map(|(packet, size)| then(packet, size))
}

/// Decodes packets of all kinds, in any number of bytes.
#[inline(never)]
fn any_packet(bytes: &[u8]) -> Decoded {
    let byte = *bytes.first().ok_or(DecodeError::Truncated)?;
    let available = bytes.len().min(head::MAX_BYTES);
    let (word, _) = payload(bytes, 1, available - 1)?;
    if let Some((packet, size)) = head::common(byte, word) {
        let is_whole = size <= bytes.len();
        return is_whole.then_some((packet, size)).ok_or(DecodeError::Truncated);
    }
    match byte {
        opcode::EXTENDED => extended::packet(bytes),
        opcode::MTC => plain(bytes, payload_bytes::MTC, |ctc| Packet::Mtc(ctc as u8)),
        opcode::MODE => tsx(bytes),
        _ if first::IsCyc::get(byte.into()) == first::CYC => cyc(bytes),
        _ => Err(unknown(byte)),
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

fn tsx(bytes: &[u8]) -> Decoded {
    let (payload, size) = payload(bytes, 1, payload_bytes::MODE)?;
    if mode::Leaf::get(payload) != mode::TSX {
        return Err(malformed("MODE"));
    }
    let mode = TsxMode {
        in_transaction: mode::InTransaction::get(payload) == 1,
        aborted: mode::Aborted::get(payload) == 1,
    };
    Ok((Packet::ModeTsx(mode), size))
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
