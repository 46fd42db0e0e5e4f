//! Packets: 16 bytes each, between a provider's service thread and the manager.
//!
//! ```text
//!  0      2      4             8                            16
//!  +------+------+-------------+-----------------------------+
//!  | req. |data16|   data32    |           data64            |   little endian
//!  +------+------+-------------+-----------------------------+
//! ```
//!
//! They are sent over a `SOCK_SEQPACKET` pair, so a packet arrives complete or not at all. Values
//! are those of `trace-provider/provider.h` (tracing system design, "Trace Manager/Provider FIFO
//! Protocol"). Unused fields must be zero.

use crate::error::ProtocolError;

/// The length of a packet in bytes.
pub const PACKET_SIZE: usize = 16;

/// The version of the packet protocol, which a provider sends in [`Packet::Started`].
pub const PACKET_VERSION: u32 = 1;

/// The longest name of an alert, in bytes.
pub const MAX_ALERT_NAME: usize = 14;

const STARTED: u16 = 0x1;
const SAVE_BUFFER: u16 = 0x2;
const STOPPED: u16 = 0x3;
const ALERT: u16 = 0x4;
const CATEGORIES_SET: u16 = 0x5;
const CONDITION_WATCHED: u16 = 0x6;
const CONDITION_HELD: u16 = 0x7;
const STREAMING: u16 = 0x8;
const BUFFER_SAVED: u16 = 0x100;

/// The largest wrapped count, as a 64-bit field has it.
const MAX_WRAPPED_COUNT: u64 = u32::MAX as u64;

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet {
    /// Provider to manager: the provider has started recording.
    Started {
        /// The provider's packet protocol version; see [`PACKET_VERSION`].
        version: u32,
    },
    /// Provider to manager, streaming only: the rolling buffer `wrapped_count & 1` is full.
    SaveBuffer {
        /// The number of switches of the rolling buffer before this one.
        wrapped_count: u32,
        /// The end of the data in the durable buffer, in bytes.
        durable_data_end: u64,
    },
    /// Provider to manager: the provider has stopped writing.
    Stopped,
    /// Provider to manager: the application raised an alert.
    Alert(AlertName),
    /// Provider to manager: replies to
    /// [`SetCategories`](crate::message::ToProvider::SetCategories). In streaming mode, the
    /// requests to save the records of all earlier trace points precede it.
    CategoriesSet {
        /// The number of the message.
        sequence: u32,
    },
    /// Provider to manager: its trace points compare a condition of
    /// [`SetConditions`](crate::message::ToProvider::SetConditions). In streaming mode, it precedes
    /// the requests to save the records of these trace points.
    ConditionWatched {
        /// The condition's number.
        number: u32,
    },
    /// Provider to manager: a watched condition held.
    ConditionHeld {
        /// The condition's number.
        number: u32,
        /// How often it held since the last packet.
        times: u64,
    },
    /// Provider to manager: replies to [`Stream`](crate::message::ToProvider::Stream). Requests to
    /// save the rolling buffers from `first` on follow.
    Streaming {
        /// The wrapped count of the oldest rolling buffer that is not overwritten.
        first: u32,
        /// The wrapped count of the rolling buffer that was being written at that time.
        current: u32,
    },
    /// Manager to provider: replies to [`Packet::SaveBuffer`], with the values of the request.
    BufferSaved {
        /// The wrapped count of the request.
        wrapped_count: u32,
        /// The durable end of the request, in bytes.
        durable_data_end: u64,
    },
}

impl Packet {
    /// Encodes the packet.
    pub fn encode(&self) -> [u8; PACKET_SIZE] {
        match *self {
            Self::Started { version } => pack(STARTED, version, 0),
            Self::SaveBuffer { wrapped_count, durable_data_end } => {
                pack(SAVE_BUFFER, wrapped_count, durable_data_end)
            }
            Self::Stopped => pack(STOPPED, 0, 0),
            Self::Alert(name) => name.encode(),
            Self::CategoriesSet { sequence } => pack(CATEGORIES_SET, sequence, 0),
            Self::ConditionWatched { number } => pack(CONDITION_WATCHED, number, 0),
            Self::ConditionHeld { number, times } => pack(CONDITION_HELD, number, times),
            Self::Streaming { first, current } => pack(STREAMING, first, u64::from(current)),
            Self::BufferSaved { wrapped_count, durable_data_end } => {
                pack(BUFFER_SAVED, wrapped_count, durable_data_end)
            }
        }
    }

    /// Decodes a packet from the other process.
    ///
    /// # Errors
    ///
    /// If `untrusted` is not 16 bytes long, has an unknown request, or has a nonzero unused field.
    pub fn decode(untrusted: &[u8]) -> Result<Self, ProtocolError> {
        let bytes: [u8; PACKET_SIZE] =
            untrusted.try_into().map_err(|_| ProtocolError::PacketLength(untrusted.len()))?;
        let [r0, r1, a0, a1, b0, b1, b2, b3, rest @ ..] = bytes;
        let request = u16::from_le_bytes([r0, r1]);
        let data16 = u16::from_le_bytes([a0, a1]);
        let data32 = u32::from_le_bytes([b0, b1, b2, b3]);
        let data64 = u64::from_le_bytes(rest);
        match (request, data16, data32, data64) {
            (STARTED, 0, version, 0) => Ok(Self::Started { version }),
            (SAVE_BUFFER, 0, wrapped_count, durable_data_end) => {
                Ok(Self::SaveBuffer { wrapped_count, durable_data_end })
            }
            (STOPPED, 0, 0, 0) => Ok(Self::Stopped),
            (CATEGORIES_SET, 0, sequence, 0) => Ok(Self::CategoriesSet { sequence }),
            (CONDITION_WATCHED, 0, number, 0) => Ok(Self::ConditionWatched { number }),
            (CONDITION_HELD, 0, number, times) => Ok(Self::ConditionHeld { number, times }),
            (STREAMING, 0, first, current @ 0..=MAX_WRAPPED_COUNT) => {
                Ok(Self::Streaming { first, current: current as u32 })
            }
            (ALERT, ..) => AlertName::decode(&bytes).map(Self::Alert),
            (BUFFER_SAVED, 0, wrapped_count, durable_data_end) => {
                Ok(Self::BufferSaved { wrapped_count, durable_data_end })
            }
            (STARTED..=STOPPED | CATEGORIES_SET..=STREAMING | BUFFER_SAVED, ..) => {
                Err(ProtocolError::ReservedBits { request })
            }
            _ => Err(ProtocolError::UnknownRequest(request)),
        }
    }
}

fn pack(request: u16, data32: u32, data64: u64) -> [u8; PACKET_SIZE] {
    let mut bytes = [0; PACKET_SIZE];
    bytes[0..2].copy_from_slice(&request.to_le_bytes());
    bytes[4..8].copy_from_slice(&data32.to_le_bytes());
    bytes[8..16].copy_from_slice(&data64.to_le_bytes());
    bytes
}

/// The name of an alert: 1 to 14 bytes of UTF-8 without a zero byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlertName {
    bytes: [u8; MAX_ALERT_NAME],
    length: u8,
}

impl AlertName {
    /// Creates a name. Returns `None` if it is empty, longer than [`MAX_ALERT_NAME`], or has a zero
    /// byte.
    pub fn new(name: &str) -> Option<Self> {
        let mut bytes = [0; MAX_ALERT_NAME];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        let valid = !name.is_empty() && !name.contains('\0');
        valid.then_some(Self { bytes, length: name.len() as u8 })
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn encode(&self) -> [u8; PACKET_SIZE] {
        let mut packet = pack(ALERT, 0, 0);
        packet[2..].copy_from_slice(&self.bytes);
        packet
    }

    fn decode(packet: &[u8; PACKET_SIZE]) -> Result<Self, ProtocolError> {
        let [_, _, name @ ..] = packet;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let (name, padding) = name.split_at(end);
        if padding.iter().any(|&byte| byte != 0) {
            return Err(ProtocolError::AlertName);
        }
        let name = std::str::from_utf8(name).map_err(|_| ProtocolError::AlertName)?;
        Self::new(name).ok_or(ProtocolError::AlertName)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LITERAL: &[(Packet, [u8; 16])] = &[
        (Packet::Started { version: 1 }, [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (
            Packet::SaveBuffer { wrapped_count: 0x0102_0304, durable_data_end: 0x1_0000_0008 },
            [2, 0, 0, 0, 4, 3, 2, 1, 8, 0, 0, 0, 1, 0, 0, 0],
        ),
        (Packet::Stopped, [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (
            Packet::BufferSaved { wrapped_count: 7, durable_data_end: 16 },
            [0, 1, 0, 0, 7, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0],
        ),
        (Packet::ConditionWatched { number: 5 }, [6, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (
            Packet::ConditionHeld { number: 5, times: 3 },
            [7, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
        ),
        (
            Packet::Streaming { first: 5, current: 0x0102_0304 },
            [8, 0, 0, 0, 5, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0],
        ),
    ];

    #[test]
    fn packets_have_the_bytes_of_the_specification() {
        for (packet, bytes) in LITERAL {
            assert_eq!(packet.encode(), *bytes);
            assert_eq!(Packet::decode(bytes), Ok(*packet));
        }
    }

    #[test]
    fn an_alert_carries_fourteen_bytes() {
        let alert = Packet::Alert(AlertName::new("fourteen bytes").unwrap());
        assert_eq!(&alert.encode(), b"\x04\0fourteen bytes");
        assert_eq!(Packet::decode(b"\x04\0short\0\0\0\0\0\0\0\0\0").unwrap().name(), "short");
        assert_eq!(AlertName::new("fifteen bytes!!"), None);
        assert_eq!(AlertName::new(""), None);
        assert_eq!(
            Packet::decode(b"\x04\0a\0b\0\0\0\0\0\0\0\0\0\0\0"),
            Err(ProtocolError::AlertName)
        );
        assert_eq!(Packet::decode(&pack(ALERT, 0xff, 0)), Err(ProtocolError::AlertName));
    }

    impl Packet {
        fn name(&self) -> String {
            match self {
                Self::Alert(name) => name.as_str().to_owned(),
                other => panic!("expected an alert, found {other:?}"),
            }
        }
    }

    #[test]
    fn unused_fields_are_zero() {
        let mut bytes = Packet::Stopped.encode();
        bytes[9] = 1;
        assert_eq!(Packet::decode(&bytes), Err(ProtocolError::ReservedBits { request: STOPPED }));
        let mut bytes = Packet::Started { version: 1 }.encode();
        bytes[2] = 1;
        assert_eq!(Packet::decode(&bytes), Err(ProtocolError::ReservedBits { request: STARTED }));
        let mut bytes = Packet::Streaming { first: 1, current: 2 }.encode();
        bytes[12] = 1;
        assert_eq!(Packet::decode(&bytes), Err(ProtocolError::ReservedBits { request: STREAMING }));
    }

    #[test]
    fn unknown_requests_and_wrong_lengths_are_refused() {
        assert_eq!(Packet::decode(&pack(9, 0, 0)), Err(ProtocolError::UnknownRequest(9)));
        assert_eq!(Packet::decode(&[0; 15]), Err(ProtocolError::PacketLength(15)));
        assert_eq!(Packet::decode(&[0; 17]), Err(ProtocolError::PacketLength(17)));
    }

    proptest! {
        #[test]
        fn decoded_packets_encode_to_the_same_bytes(bytes: [u8; 16], request in 0u16..10) {
            let mut bytes = bytes;
            bytes[..2].copy_from_slice(&request.to_le_bytes());
            if let Ok(packet) = Packet::decode(&bytes) {
                prop_assert_eq!(packet.encode(), bytes);
            }
        }
    }
}
