//! Blobs with traces in Perfetto's format.
//!
//! A program that uses Perfetto's SDK in addition to FXT writes its trace into blobs, split at any
//! byte. All blobs of a provider are one stream of packets.

use std::collections::BTreeMap;

use prost::encoding::{decode_key, decode_varint, WireType};
use prost::Message;

use super::packets::PACKET;

/// The maximum size of a packet, in bytes.
const MAX_PACKET_BYTES: usize = 64 << 20;

/// The streams of packets, by provider.
#[derive(Debug, Default)]
pub(super) struct Embedded(BTreeMap<Option<u32>, Stream>);

#[derive(Debug, Default)]
struct Stream {
    /// The start of a packet that is not complete yet.
    incomplete: Vec<u8>,
    is_malformed: bool,
}

impl Embedded {
    /// Appends the next piece of a provider's stream, and returns the packets that are complete.
    ///
    /// # Errors
    ///
    /// The stream is malformed. The error has the bytes that were not returned yet.
    pub(super) fn push(&mut self, provider: Option<u32>, piece: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
        let stream = self.0.entry(provider).or_default();
        stream.incomplete.extend_from_slice(piece);
        let complete = stream.complete_bytes();
        match complete {
            Some(length) => {
                let rest = stream.incomplete.split_off(length);
                Ok(std::mem::replace(&mut stream.incomplete, rest))
            }
            None => {
                stream.is_malformed = true;
                Err(std::mem::take(&mut stream.incomplete))
            }
        }
    }

    /// Returns the incomplete packets at the ends of the streams.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = Vec<u8>> {
        let streams = std::mem::take(&mut self.0).into_values();
        streams.map(|stream| stream.incomplete).filter(|rest| !rest.is_empty())
    }
}

impl Stream {
    /// Returns the size of the complete packets; `None` if the stream is malformed.
    fn complete_bytes(&self) -> Option<usize> {
        if self.is_malformed {
            return None;
        }
        let mut rest = &self.incomplete[..];
        loop {
            rest = match packet(rest) {
                Next::Packet(after) => after,
                Next::Incomplete => return Some(self.incomplete.len() - rest.len()),
                Next::Malformed => return None,
            };
        }
    }
}

/// The next part of a stream.
enum Next<'a> {
    /// A packet. The field has the bytes after it.
    Packet(&'a [u8]),
    Incomplete,
    Malformed,
}

fn packet(bytes: &[u8]) -> Next<'_> {
    let mut rest = bytes;
    let Ok(key) = decode_key(&mut rest) else { return short(bytes) };
    if key != (PACKET, WireType::LengthDelimited) {
        return Next::Malformed;
    }
    let Ok(length) = decode_varint(&mut rest) else { return short(bytes) };
    match rest.split_at_checked(usize::try_from(length).unwrap_or(usize::MAX)) {
        // `()` accepts every well-formed message.
        Some((packet, after)) if <()>::decode(packet).is_ok() => Next::Packet(after),
        None if length <= MAX_PACKET_BYTES as u64 => Next::Incomplete,
        _ => Next::Malformed,
    }
}

/// Classifies bytes without a complete key and length.
fn short(bytes: &[u8]) -> Next<'static> {
    /// A key and a length have ten bytes each.
    const MAX_START_BYTES: usize = 20;
    match bytes.len() < MAX_START_BYTES {
        true => Next::Incomplete,
        false => Next::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_packets_are_joined() {
        let mut embedded = Embedded::default();
        assert_eq!(embedded.push(None, b"\x0a"), Ok(vec![]));
        assert_eq!(embedded.push(Some(1), b"\x0a\x00\x0a\x02\x08"), Ok(b"\x0a\x00".to_vec()));
        assert_eq!(embedded.push(None, b"\x00\x0a\x00\x0a"), Ok(b"\x0a\x00\x0a\x00".to_vec()));
        assert_eq!(embedded.push(Some(1), b"\x05"), Ok(b"\x0a\x02\x08\x05".to_vec()));
        assert_eq!(embedded.finish().collect::<Vec<_>>(), [b"\x0a"]);
    }

    #[test]
    fn malformed_streams_are_returned() {
        // Another field; a packet that is not a message; a length beyond the limit.
        for other in [&b"\x12\x00"[..], b"\x0a\x01\x08", b"\x0a\xff\xff\xff\xff\x0f"] {
            let mut embedded = Embedded::default();
            assert_eq!(embedded.push(None, other), Err(other.to_vec()));
            assert_eq!(embedded.push(None, b"\x0a\x00"), Err(b"\x0a\x00".to_vec()));
        }
    }
}
