//! The records of a file or a pipe, one after another.

mod unpack;

use std::io::{self, Read};

use super::error::PerfDataError;
use super::raw::{RawRecord, AUXTRACE, COMPRESSED, COMPRESSED2, HEADER_BYTES, HEADER_TRACING_DATA};
use crate::byte_order::ByteOrder;
use unpack::Unpacker;

/// The most bytes of the formats of tracepoints.
pub(super) const MAX_FORMATS: u64 = 64 << 20;

/// Reads records.
#[derive(Debug)]
pub(super) struct Stream<R> {
    input: R,
    order: ByteOrder,
    /// The number of bytes before the end; `None` if the input ends with them.
    left: Option<u64>,
    offset: u64,
    unpacker: Unpacker,
}

impl<R: Read> Stream<R> {
    /// Reads the records that follow in `input`: `size` bytes, or all.
    pub(super) fn new(input: R, size: Option<u64>, order: ByteOrder) -> Self {
        Self { input, order, left: size, offset: 0, unpacker: Unpacker::new(order) }
    }

    /// Returns the next record. The body of `HEADER_TRACING_DATA` is the data that follow it in the
    /// input; those of `AUXTRACE` are skipped.
    pub(super) fn next(&mut self) -> Result<Option<RawRecord>, PerfDataError> {
        self.next_with(&mut |_, _| Ok(()))
    }

    /// The same; `aux` gets the body of `AUXTRACE` and may read its data.
    pub(super) fn next_with(
        &mut self,
        aux: &mut impl FnMut(&[u8], &mut dyn Read) -> io::Result<()>,
    ) -> Result<Option<RawRecord>, PerfDataError> {
        loop {
            if let Some(record) = self.unpacker.next(self.offset)? {
                return Ok(Some(record));
            }
            let offset = self.offset;
            let Some((kind, misc, size)) = self.header()? else {
                return match self.unpacker.is_empty() {
                    true => Ok(None),
                    false => Err(truncated()),
                };
            };
            let malformed = PerfDataError::Record { offset };
            let Some(size) = usize::from(size).checked_sub(HEADER_BYTES) else {
                return Err(malformed);
            };
            let body = self.bytes(size as u64)?;
            let number = |size| self.order.number_at(&body, 0, size);
            let body = match kind {
                COMPRESSED => {
                    self.unpacker.add(body);
                    continue;
                }
                COMPRESSED2 => {
                    let size = number(8).and_then(|size| usize::try_from(size).ok());
                    let packed = size.and_then(|size| body.get(8..)?.get(..size));
                    self.unpacker.add(packed.ok_or(malformed)?.to_vec());
                    continue;
                }
                AUXTRACE => {
                    let size = number(8).ok_or(malformed)?;
                    self.pass_on(size, &mut |data| aux(&body, data))?;
                    body
                }
                HEADER_TRACING_DATA => {
                    let size = number(4).ok_or(malformed)?;
                    if size > MAX_FORMATS {
                        return Err(PerfDataError::TooLarge("formats of tracepoints"));
                    }
                    self.bytes(size)?
                }
                _ => body,
            };
            return Ok(Some(RawRecord { kind, misc, body: body.into(), offset }));
        }
    }

    /// Reads the header of a record, unless the records end here.
    fn header(&mut self) -> Result<Option<(u32, u16, u16)>, PerfDataError> {
        if self.left == Some(0) {
            return Ok(None);
        }
        let mut header = Vec::new();
        self.input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        if header.is_empty() && self.left.is_none() {
            return Ok(None);
        }
        self.advance(header.len() as u64)?;
        let number = |offset, size| self.order.number_at(&header, offset, size);
        let parsed = number(0, 4).zip(number(4, 2)).zip(number(6, 2));
        let ((kind, misc), size) = parsed.ok_or_else(truncated)?;
        Ok(Some((kind as u32, misc as u16, size as u16)))
    }

    /// Reads bytes of a record. Memory grows with the bytes that there are.
    fn bytes(&mut self, size: u64) -> Result<Vec<u8>, PerfDataError> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(size).read_to_end(&mut bytes)?;
        self.advance(bytes.len() as u64)?;
        match bytes.len() as u64 == size {
            true => Ok(bytes),
            false => Err(truncated()),
        }
    }

    /// Passes bytes on, and skips those that are not read.
    fn pass_on(
        &mut self,
        size: u64,
        read: &mut impl FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> Result<(), PerfDataError> {
        let mut data = self.input.by_ref().take(size);
        read(&mut data)?;
        io::copy(&mut data, &mut io::sink())?;
        let passed = size - data.limit();
        self.advance(passed)?;
        match passed == size {
            true => Ok(()),
            false => Err(truncated()),
        }
    }

    /// Counts bytes that were read. A record ends before the records end.
    fn advance(&mut self, size: u64) -> Result<(), PerfDataError> {
        let malformed = PerfDataError::Record { offset: self.offset };
        self.offset += size;
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(size).ok_or(malformed)?;
        }
        Ok(())
    }
}

fn truncated() -> PerfDataError {
    io::Error::from(io::ErrorKind::UnexpectedEof).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = (HEADER_BYTES + body.len()) as u16;
        [&kind.to_le_bytes()[..], &7_u16.to_le_bytes(), &size.to_le_bytes(), body].concat()
    }

    fn read(bytes: &[u8], size: Option<u64>) -> (Vec<(u32, Vec<u8>)>, Option<String>) {
        let mut stream = Stream::new(bytes, size, ByteOrder::Little);
        let mut records = Vec::new();
        loop {
            match stream.next() {
                Ok(Some(record)) => records.push((record.kind, record.body.into())),
                Ok(None) => return (records, None),
                Err(error) => return (records, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn data_outside_of_records_are_read_or_skipped() {
        let bytes = [
            record(9, b"one"),
            record(HEADER_TRACING_DATA, &3_u32.to_le_bytes()),
            b"two".to_vec(),
            record(AUXTRACE, &5_u64.to_le_bytes()),
            b"three".to_vec(),
            record(3, b""),
        ]
        .concat();
        let aux = 5_u64.to_le_bytes().to_vec();
        let expected = vec![
            (9, b"one".to_vec()),
            (HEADER_TRACING_DATA, b"two".to_vec()),
            (AUXTRACE, aux),
            (3, Vec::new()),
        ];
        let size = bytes.len() as u64;
        for size in [None, Some(size)] {
            assert_eq!(read(&bytes, size), (expected.clone(), None));
        }
        let (records, error) = read(&bytes, Some(size - 1));
        assert_eq!((records.len(), error.is_some()), (3, true));
        let (records, error) = read(&bytes, Some(size + 1));
        assert_eq!((records.len(), error.as_deref()), (4, Some("the file is truncated")));
    }

    #[test]
    fn compressed_records_are_one_stream() {
        let inner = [record(9, &[1; 3000]), record(3, b"name"), record(4, &[2; 5000])].concat();
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        let mut packed = Vec::new();
        for part in inner.chunks(2000) {
            use std::io::Write;
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
            let part = std::mem::take(encoder.get_mut());
            let kind = if packed.is_empty() { COMPRESSED } else { COMPRESSED2 };
            let size = (part.len() as u64).to_le_bytes();
            let body = match kind {
                COMPRESSED => part,
                _ => [&size[..], &part, &[0; 3]].concat(),
            };
            packed.extend(record(kind, &body));
        }
        let expected = vec![(9, vec![1; 3000]), (3, b"name".to_vec()), (4, vec![2; 5000])];
        assert_eq!(read(&packed, None), (expected, None));
        for length in 1..packed.len() {
            let (records, error) = read(&packed[..length], None);
            assert!(records.len() < 3 && error.is_some(), "{length}");
        }
    }

    #[test]
    fn short_records_are_errors() {
        for size in 0..HEADER_BYTES as u16 {
            let mut bytes = record(9, b"");
            bytes[6..8].copy_from_slice(&size.to_le_bytes());
            let error = "malformed record at byte 0 of the data".to_owned();
            assert_eq!(read(&bytes, None), (Vec::new(), Some(error)));
        }
        let endless = record(HEADER_TRACING_DATA, &u32::MAX.to_le_bytes());
        let error = "too large: formats of tracepoints".to_owned();
        assert_eq!(read(&endless, None), (Vec::new(), Some(error)));
        let nested = zstd::encode_all(&*record(COMPRESSED, b""), 1).unwrap();
        let (records, error) = read(&record(COMPRESSED, &nested), None);
        assert!(records.is_empty() && error.is_some());
    }
}
