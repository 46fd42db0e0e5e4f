//! Numbers, strings and bytes, one after another.

use std::io::{self, Read};

use super::error::TraceDatError;
use crate::byte_order::ByteOrder;

/// The longest string, in bytes.
const MAX_STRING: usize = 4096;

/// Reads fields of a file or a section.
#[derive(Debug)]
pub(crate) struct Fields<R> {
    input: R,
    pub(crate) order: ByteOrder,
}

impl<R: Read> Fields<R> {
    pub(crate) fn new(input: R, order: ByteOrder) -> Self {
        Self { input, order }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, TraceDatError> {
        Ok(self.number::<1>()? as u8)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, TraceDatError> {
        Ok(self.number::<2>()? as u16)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, TraceDatError> {
        Ok(self.number::<4>()? as u32)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, TraceDatError> {
        self.number::<8>()
    }

    fn number<const N: usize>(&mut self) -> Result<u64, TraceDatError> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.order.number(&bytes).ok_or(TraceDatError::Malformed("number"))
    }

    /// Reads so many bytes. Memory grows with the bytes that there are.
    pub(crate) fn bytes(&mut self, size: u64) -> Result<Vec<u8>, TraceDatError> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(size).read_to_end(&mut bytes)?;
        match bytes.len() as u64 == size {
            true => Ok(bytes),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    pub(crate) fn text(&mut self, size: u64) -> Result<String, TraceDatError> {
        let bytes = self.bytes(size)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned())
    }

    pub(crate) fn skip(&mut self, size: u64) -> Result<(), TraceDatError> {
        match io::copy(&mut self.input.by_ref().take(size), &mut io::sink())? == size {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }

    /// Reads a string up to its zero.
    pub(crate) fn string(&mut self) -> Result<String, TraceDatError> {
        let mut bytes = Vec::new();
        for _ in 0..MAX_STRING {
            match self.u8()? {
                0 => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                byte => bytes.push(byte),
            }
        }
        Err(TraceDatError::Malformed("string"))
    }

    /// Reads these bytes.
    pub(crate) fn expect(
        &mut self,
        expected: &[u8],
        part: &'static str,
    ) -> Result<(), TraceDatError> {
        match self.bytes(expected.len() as u64)? == expected {
            true => Ok(()),
            false => Err(TraceDatError::Malformed(part)),
        }
    }
}
