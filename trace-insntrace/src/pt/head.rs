//! Common packets, by their first byte.
//!
//! The kind of the next packet often cannot be predicted. So it takes no branches: the first byte
//! selects the packet without its payload from a table, and the payload is a word that is added.

use super::layout::{first, low_bytes, mode, opcode, payload_bytes, Compression};
use super::packet::{ExecMode, Ip, Packet, Tnt};

/// The most bytes of a common packet: the first one and a word.
pub(super) const MAX_BYTES: usize = 9;

/// What the first byte says about a common packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    /// The packet without the payload behind the first byte.
    packet: Packet,
    /// The bits of the word behind the first byte that belong to the packet.
    mask: u64,
    /// The size of the packet in bytes.
    size: u8,
}

/// The packets without their payloads, and the masks of these, by the first byte.
static PACKETS: [(Packet, u64); 256] = {
    let mut packets = [(Packet::Pad, 0); 256];
    let mut byte = 0;
    while byte < packets.len() {
        if let Some(head) = Head::new(byte as u8) {
            packets[byte] = (head.packet, head.mask);
        }
        byte += 1;
    }
    packets
};

/// The sizes in bytes, by the first byte, or 0 if it begins no common packet. Each packet waits for
/// the size of the one before, which is found soonest in a small table.
static SIZES: [u8; 256] = {
    let mut sizes = [0; 256];
    let mut byte = 0;
    while byte < sizes.len() {
        if let Some(head) = Head::new(byte as u8) {
            sizes[byte] = head.size;
        }
        byte += 1;
    }
    sizes
};

impl Head {
    const fn new(byte: u8) -> Option<Self> {
        let word = byte as u64;
        if first::IsNotTnt::get(word) == 0 {
            return match Tnt::from_payload(first::Tnt::get(word)) {
                Some(tnt) => Some(Self { packet: Packet::Tnt(tnt), mask: 0, size: 1 }),
                None if byte == opcode::PAD => Some(Self { packet: Packet::Pad, mask: 0, size: 1 }),
                None => None,
            };
        }
        match byte {
            opcode::TSC => return Some(Self::with(Packet::Tsc(0), payload_bytes::TSC)),
            opcode::MODE => {
                let packet = Packet::ModeExec(ExecMode::from_payload(0));
                let mask = ExecMode::new(true, true).with_interrupts(true).to_payload();
                return Some(Self { mask, ..Self::with(packet, payload_bytes::MODE) });
            }
            _ => {}
        }
        let Some(compression) = Compression::from_bits(first::IpCompression::get(word)) else {
            return None;
        };
        let ip = Ip::new(compression, 0);
        let packet = match first::IpKind::get(word) {
            first::TIP => Packet::Tip(ip),
            first::TIP_PGE => Packet::TipPge(ip),
            first::TIP_PGD => Packet::TipPgd(ip),
            first::FUP => Packet::Fup(ip),
            _ => return None,
        };
        Some(Self::with(packet, compression.bytes()))
    }

    const fn with(packet: Packet, payload_bytes: usize) -> Self {
        let mask = low_bytes(u64::MAX, payload_bytes);
        Self { packet, mask, size: 1 + payload_bytes as u8 }
    }
}

/// Returns the packet that begins with `byte`, and its size, if it is a common one. The bytes
/// behind the first one are those of `word`. Bytes beyond the packet are ignored.
#[inline]
pub(super) fn common(byte: u8, word: u64) -> Option<(Packet, usize)> {
    // A byte is always in range, and the compiler omits the checks.
    let size = *SIZES.get(usize::from(byte))?;
    let is_other_mode = byte == opcode::MODE && mode::Leaf::get(word) != mode::EXEC;
    if size == 0 || is_other_mode {
        return None;
    }
    let (packet, mask) = PACKETS.get(usize::from(byte))?;
    Some((packet.with_payload(word & mask), size.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_that_are_shared_have_no_size() {
        let sizes = (0..=255_u8).map(|byte| (byte, SIZES[usize::from(byte)]));
        let count = |wanted: fn(u8) -> bool| sizes.clone().filter(|(_, it)| wanted(*it)).count();
        // Short TNT and PAD, without the first byte of others.
        let of_one_byte = 128 - 1;
        let suppressed = 4;
        assert_eq!(count(|size| size == 1), of_one_byte + suppressed);
        // MODE, TSC, and the other compressions of four packets.
        assert_eq!(count(|size| size > 1), 2 + 4 * (Compression::ALL.len() - 1));
        for byte in [opcode::EXTENDED, opcode::MTC, first::CYC as u8] {
            assert_eq!(common(byte, 0), None, "{byte:x}");
        }
    }

    #[test]
    fn common_packets_take_their_part_of_the_word() {
        let word = 0x8877_6655_4433_2211;
        assert_eq!(common(opcode::TSC, word), Some((Packet::Tsc(0x77_6655_4433_2211), 8)));
        let mode = ExecMode::LONG;
        assert_eq!(common(opcode::MODE, word & !0x10), Some((Packet::ModeExec(mode), 2)));
        // TSX.
        assert_eq!(common(opcode::MODE, 0x20), None);
        for compression in Compression::ALL {
            let byte = first::TIP | first::IpCompression::make(compression.bits());
            let expected = Packet::Tip(Ip::new(compression, word));
            let size = 1 + compression.bytes();
            assert_eq!(common(byte as u8, word), Some((expected, size)));
        }
    }
}
