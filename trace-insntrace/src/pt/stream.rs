//! Packets of a stream that arrives in pieces.

use core::fmt;

use super::decode::{self, DecodeError};
use super::layout::{opcode, PSB, PSB_BYTES};
use super::packet::Packet;

/// A packet and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketAt {
    /// The offset of the packet's first byte in the stream.
    pub offset: u64,
    /// The packet.
    pub packet: Packet,
}

/// Bytes of a stream that are not a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketError {
    /// The offset of the first of these bytes in the stream.
    pub offset: u64,
    /// Why they are not a packet.
    pub error: DecodeError,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset 0x{:x}: {}", self.offset, self.error)
    }
}

impl core::error::Error for PacketError {}

/// Decodes a stream of packets without I/O: [`push`](Self::push) bytes, then take packets with
/// [`next_packet`](Self::next_packet) until there is none.
///
/// The first packet is the first PSB. After an error decoding continues at the next PSB, and
/// [`skipped_bytes`](Self::skipped_bytes) grows by the bytes before it.
///
/// # Examples
///
/// ```
/// use trace_insntrace::pt::{encode, Packet, PacketDecoder};
///
/// let mut bytes = b"the end of an older packet".to_vec();
/// encode::append(&mut bytes, &Packet::Psb);
/// encode::append(&mut bytes, &Packet::Tsc(1_000));
///
/// let mut packets = PacketDecoder::new();
/// packets.push(&bytes);
/// packets.end();
/// let mut found = Vec::new();
/// while let Some(packet) = packets.next_packet() {
///     found.push(packet?.packet);
/// }
/// assert_eq!(found, [Packet::Psb, Packet::Tsc(1_000)]);
/// assert_eq!(packets.skipped_bytes(), 26);
/// # Ok::<(), trace_insntrace::pt::PacketError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PacketDecoder {
    buffer: Vec<u8>,
    /// The first byte of `buffer` that is still to be decoded.
    at: usize,
    /// The offset in the stream of the buffer's first byte.
    base: u64,
    skipped: u64,
    synchronized: bool,
    ended: bool,
}

impl PacketDecoder {
    /// Creates a decoder without bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the next bytes of the stream.
    ///
    /// Decoded bytes are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.base += self.at as u64;
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Declares that the stream ends here: a truncated packet becomes an error.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns the offset in the stream of the next byte to be decoded.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns the number of bytes that were skipped in search of a PSB.
    #[must_use]
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped
    }

    /// Returns the next packet, or `None` if the bytes pushed so far do not contain it.
    ///
    /// # Errors
    ///
    /// Fails if the next bytes are not a packet. The next call continues at the next PSB.
    #[inline]
    pub fn next_packet(&mut self) -> Option<Result<PacketAt, PacketError>> {
        if !self.synchronized && !self.synchronize() {
            return None;
        }
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        match decode::packet(rest) {
            Ok((packet, size)) => {
                let offset = self.offset();
                self.at += size;
                Some(Ok(PacketAt { offset, packet }))
            }
            Err(error) => self.fail(error),
        }
    }

    /// Calls `visit` with each packet of the bytes pushed so far, faster than
    /// [`next_packet`](Self::next_packet) returns them.
    ///
    /// # Errors
    ///
    /// Fails if bytes are not a packet. The next call continues at the next PSB.
    ///
    /// # Examples
    ///
    /// ```
    /// use trace_insntrace::pt::{layout::PSB, PacketDecoder};
    ///
    /// let mut packets = PacketDecoder::new();
    /// packets.push(&PSB);
    /// packets.push(&[0x59, 0x01, 0xd9]);
    /// let mut offsets = Vec::new();
    /// assert!(packets.visit(|packet| offsets.push(packet.offset)).is_err());
    /// assert_eq!(offsets, [0, 16]);
    /// ```
    #[inline]
    pub fn visit(&mut self, mut visit: impl FnMut(PacketAt)) -> Result<(), PacketError> {
        if !self.synchronized && !self.synchronize() {
            return Ok(());
        }
        // The position is a local variable, so that it stays in a register.
        let mut rest = self.buffer.get(self.at..).unwrap_or_default();
        let mut offset = self.offset();
        let error = loop {
            let decoded = decode::with_packet(rest, |packet, size| {
                visit(PacketAt { offset, packet });
                size
            });
            match decoded {
                Ok(size) => {
                    rest = rest.get(size..).unwrap_or_default();
                    offset += size as u64;
                }
                Err(error) => break error,
            }
        };
        self.at = self.buffer.len() - rest.len();
        self.fail(error).map_or(Ok(()), |failed| failed.map(drop))
    }

    #[cold]
    fn fail(&mut self, error: DecodeError) -> Option<Result<PacketAt, PacketError>> {
        let more_may_come = !self.ended || self.at == self.buffer.len();
        if error == DecodeError::Truncated && more_may_come {
            return None;
        }
        let offset = self.offset();
        self.synchronized = false;
        // A truncated packet is valid up to the end of the bytes, so it contains no PSB.
        let size = if error == DecodeError::Truncated { self.buffer.len() - self.at } else { 1 };
        self.skip(size);
        Some(Err(PacketError { offset, error }))
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        self.skipped += bytes as u64;
    }

    /// Moves to the next PSB; returns whether there is one.
    fn synchronize(&mut self) -> bool {
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let found = find_psb(rest);
        let keep = if self.ended { 0 } else { PSB_BYTES - 1 };
        self.synchronized = found.is_some();
        let skipped = found.unwrap_or(rest.len().saturating_sub(keep));
        self.skip(skipped);
        self.synchronized
    }
}

fn find_psb(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = from + rest.iter().position(|byte| *byte == opcode::EXTENDED)?;
        if bytes.get(at..)?.starts_with(&PSB) {
            return Some(at);
        }
        from = at + 1;
    }
}
