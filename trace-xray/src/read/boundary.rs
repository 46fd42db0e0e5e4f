//! The bytes between thread buffers.

use super::decode;
use crate::layout::{MetadataKind, HEADER_BYTES, METADATA_BYTES};
use crate::record::Format;
use crate::write::encode;

/// The number of bytes that identify a boundary: a header and the start of a thread buffer.
pub(super) const LOOK_BYTES: usize = HEADER_BYTES + START_BYTES;

/// The number of bytes that identify the start of a thread buffer.
pub(super) const START_BYTES: usize = METADATA_BYTES + 1;

/// The kind of the bytes at a boundary.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// A thread buffer.
    Buffer,
    /// A header.
    Header,
    /// This number of zeros.
    Zeros(usize),
    /// Something else.
    Unknown,
}

/// Returns the kind of `bytes`, which are not empty.
pub(super) fn at(bytes: &[u8], format: Format, finished: bool) -> Boundary {
    if starts_buffer(bytes, format) {
        return Boundary::Buffer;
    }
    // In version 1 the first byte of a header is that of a thread buffer, too.
    if starts_log(bytes) {
        return Boundary::Header;
    }
    match bytes.first() {
        Some(0) => Boundary::Zeros(zeros(bytes, finished)),
        Some(byte) if *byte == first_bytes(format).0 => Boundary::Buffer,
        _ => Boundary::Unknown,
    }
}

/// Returns the number of zeros before the next boundary. The first zero of a big-endian header
/// belongs to the header.
fn zeros(bytes: &[u8], finished: bool) -> usize {
    let known = if finished { bytes.len() } else { bytes.len().saturating_sub(LOOK_BYTES) };
    let is_zero = |at: &usize| {
        let rest = bytes.get(*at..).unwrap_or_default();
        rest.first() == Some(&0) && !starts_log(rest)
    };
    1 + (1..known).take_while(is_zero).count()
}

/// Returns whether `bytes` start with a thread buffer, or with a header and a thread buffer,
/// without padding.
pub(super) fn has_no_padding(bytes: &[u8], format: Format) -> bool {
    starts_buffer(bytes, format) || starts_log(bytes)
}

/// Returns whether `bytes` start with a header and its first thread buffer, or end after the
/// header. A header alone is not enough: with a zero before it, a little-endian one looks like a
/// big-endian one.
fn starts_log(bytes: &[u8]) -> bool {
    let behind = bytes.get(HEADER_BYTES..).unwrap_or_default();
    decode::header(bytes)
        .is_ok_and(|header| behind.is_empty() || starts_buffer(behind, header.format))
}

/// Returns the place of the next thread buffer in `bytes`.
pub(super) fn find_buffer(bytes: &[u8], format: Format) -> Option<usize> {
    bytes.windows(START_BYTES).position(|bytes| starts_buffer(bytes, format))
}

/// Returns the number of bytes at whose start no thread buffer can be, if none was found.
pub(super) fn searched(bytes: &[u8]) -> usize {
    (bytes.len() + 1).saturating_sub(START_BYTES)
}

/// Returns whether `bytes` start with the first two records of a thread buffer.
pub(super) fn starts_buffer(bytes: &[u8], format: Format) -> bool {
    let (first, second) = first_bytes(format);
    bytes.first() == Some(&first) && bytes.get(METADATA_BYTES) == Some(&second)
}

/// Returns the first bytes of the first two records of a thread buffer.
fn first_bytes(format: Format) -> (u8, u8) {
    let byte = |kind| encode::metadata_byte(kind, format.order);
    if format.version.has_extents() {
        (byte(MetadataKind::BufferExtents), byte(MetadataKind::NewBuffer))
    } else {
        (byte(MetadataKind::NewBuffer), byte(MetadataKind::WallClock))
    }
}
