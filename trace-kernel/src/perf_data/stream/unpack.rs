//! Compressed records: the parts of one stream of zstd.

use std::fmt;
use std::io;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::super::error::PerfDataError;
use super::super::raw::{
    RawRecord, AUXTRACE, COMPRESSED, COMPRESSED2, HEADER_BYTES, HEADER_TRACING_DATA,
};
use crate::byte_order::ByteOrder;

/// The bytes that are decompressed at once. They are the limit of memory, with a record.
const PART_BYTES: usize = 64 << 10;

/// Decompresses records.
pub(super) struct Unpacker {
    order: ByteOrder,
    decoder: Option<Decoder<'static>>,
    packed: Vec<u8>,
    /// The number of bytes of `packed` that are decompressed.
    consumed: usize,
    unpacked: Vec<u8>,
    /// The number of bytes of `unpacked` that were returned.
    returned: usize,
}

impl Unpacker {
    pub(super) fn new(order: ByteOrder) -> Self {
        let (packed, unpacked) = Default::default();
        Self { order, decoder: None, packed, consumed: 0, unpacked, returned: 0 }
    }

    /// Adds the next part of the stream. The records of the part before have been returned.
    pub(super) fn add(&mut self, part: Vec<u8>) {
        (self.packed, self.consumed) = (part, 0);
    }

    /// Returns whether no part of a record is left.
    pub(super) fn is_empty(&self) -> bool {
        self.returned == self.unpacked.len()
    }

    /// Returns the next record, unless it needs more parts.
    pub(super) fn next(&mut self, offset: u64) -> Result<Option<RawRecord>, PerfDataError> {
        loop {
            let malformed = PerfDataError::Record { offset };
            let rest = self.unpacked.get(self.returned..).unwrap_or_default();
            let number = |place, size| self.order.number_at(rest, place, size);
            if let Some(((kind, misc), size)) = number(0, 4).zip(number(4, 2)).zip(number(6, 2)) {
                let (kind, misc, size) = (kind as u32, misc as u16, size as usize);
                let is_nested = [COMPRESSED, COMPRESSED2, AUXTRACE, HEADER_TRACING_DATA];
                if size < HEADER_BYTES || is_nested.contains(&kind) {
                    return Err(malformed);
                }
                if let Some(body) = rest.get(HEADER_BYTES..size) {
                    let body = body.into();
                    self.returned += size;
                    return Ok(Some(RawRecord { kind, misc, body, offset }));
                }
            }
            if !self.fill().map_err(|_| malformed)? {
                return Ok(None);
            }
        }
    }

    /// Decompresses more bytes. Returns `false` if there are none.
    fn fill(&mut self) -> io::Result<bool> {
        let packed = self.packed.get(self.consumed..).unwrap_or_default();
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            None if packed.is_empty() => return Ok(false),
            None => self.decoder.insert(Decoder::new()?),
        };
        self.unpacked.drain(..self.returned);
        self.returned = 0;
        let before = self.unpacked.len();
        self.unpacked.resize(before + PART_BYTES, 0);
        let mut input = InBuffer::around(packed);
        let space = self.unpacked.get_mut(before..).unwrap_or_default();
        let mut output = OutBuffer::around(space);
        let run = decoder.run(&mut input, &mut output);
        let (read, written) = (input.pos(), output.pos());
        self.unpacked.truncate(before + written);
        self.consumed += read;
        run.map(|_| read + written > 0)
    }
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}
