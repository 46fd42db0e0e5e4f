//! The first byte of a packet.

use super::layout::{first, low_bytes, opcode, Compression};
use super::packet::{Ip, Packet, Tnt};

/// What the first byte says about the packet, if it says all but the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// A short TNT, the whole packet.
    Tnt(Tnt),
    /// A packet with an IP.
    Ip(IpHead),
    /// TSC.
    Time,
    /// MODE.
    Mode,
    /// A packet whose second byte says more.
    Extended,
    /// Another packet, or none.
    Other,
}

/// The head of a packet with an IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IpHead {
    kind: IpKind,
    compression: Compression,
    /// The size of the packet.
    size: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IpKind {
    Tip,
    TipPge,
    TipPgd,
    Fup,
}

/// The head for each byte. With it, the size of an unpredictable packet takes no branches.
static HEADS: [Head; 256] = {
    let mut heads = [Head::Other; 256];
    let mut byte = 0;
    while byte < heads.len() {
        heads[byte] = Head::new(byte as u8);
        byte += 1;
    }
    heads
};

impl Head {
    #[inline]
    pub(super) fn of(byte: u8) -> Self {
        // A byte is always in range, and the compiler omits the check.
        HEADS.get(usize::from(byte)).copied().unwrap_or(Self::Other)
    }

    const fn new(byte: u8) -> Self {
        let word = byte as u64;
        match (first::IsNotTnt::get(word), Tnt::from_payload(first::Tnt::get(word))) {
            (0, Some(tnt)) => return Self::Tnt(tnt),
            (0, None) if byte == opcode::EXTENDED => return Self::Extended,
            _ => {}
        }
        let kind = match first::IpKind::get(word) {
            first::TIP => IpKind::Tip,
            first::TIP_PGE => IpKind::TipPge,
            first::TIP_PGD => IpKind::TipPgd,
            first::FUP => IpKind::Fup,
            _ if byte == opcode::TSC => return Self::Time,
            _ if byte == opcode::MODE => return Self::Mode,
            _ => return Self::Other,
        };
        match Compression::from_bits(first::IpCompression::get(word)) {
            Some(compression) => {
                let size = 1 + compression.bytes() as u8;
                Self::Ip(IpHead { kind, compression, size })
            }
            None => Self::Other,
        }
    }
}

impl IpHead {
    /// Returns the size of the packet in bytes.
    #[inline]
    pub(super) fn size(self) -> usize {
        self.size.into()
    }

    /// Returns the packet whose payload is the lowest bytes of `word`.
    #[inline]
    pub(super) fn packet(self, word: u64) -> Packet {
        let ip = Ip::from_payload(self.compression, low_bytes(word, self.size() - 1));
        match self.kind {
            IpKind::Tip => Packet::Tip(ip),
            IpKind::TipPge => Packet::TipPge(ip),
            IpKind::TipPgd => Packet::TipPgd(ip),
            IpKind::Fup => Packet::Fup(ip),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_with_an_ip_have_a_head_for_each_compression() {
        let ips = (0..=255).filter(|byte| matches!(Head::of(*byte), Head::Ip(_)));
        assert_eq!(ips.count(), 4 * Compression::ALL.len());
        let others = [
            (Head::Time, opcode::TSC),
            (Head::Mode, opcode::MODE),
            (Head::Extended, opcode::EXTENDED),
        ];
        for (head, opcode) in others {
            let bytes = (0..=255).filter(|byte| Head::of(*byte) == head);
            assert_eq!(bytes.collect::<Vec<_>>(), [opcode]);
        }
    }
}
