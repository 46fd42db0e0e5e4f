//! The payloads of an archive, in a temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use trace_analyze::input::temporary_file_error;

use super::error::ExportError;

/// Writes payloads to a temporary file.
#[derive(Debug)]
pub(super) struct Payloads {
    file: BufWriter<File>,
    bytes: u64,
}

impl Payloads {
    pub(super) fn new() -> Result<Self, ExportError> {
        let file = tempfile::tempfile().map_err(temporary_file_error);
        let file = BufWriter::new(file.map_err(ExportError::Temporary)?);
        Ok(Self { file, bytes: 0 })
    }

    /// Returns the place of a payload in the file, and its size.
    pub(super) fn add(&mut self, payload: &[u8]) -> Result<(u64, u32), ExportError> {
        self.file.write_all(payload).map_err(ExportError::Temporary)?;
        let offset = self.bytes;
        self.bytes += payload.len() as u64;
        Ok((offset, payload.len() as u32))
    }

    pub(super) fn finish(self) -> Result<File, ExportError> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error);
        file.map_err(ExportError::Temporary)
    }
}
