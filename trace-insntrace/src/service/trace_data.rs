//! A buffer as a trace that can be decoded.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use super::client::{Client, Error};
use crate::controller::{BufferConfig, BufferDescriptor, Losses};
use crate::recording::{notes_of_archive, since, Note, TraceId};

/// The packets of a buffer, and what is required to decode them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceData {
    /// The threads and the code, with offsets in `packets`.
    pub notes: Vec<Note>,
    /// The packets, from the oldest to the newest.
    pub packets: Vec<u8>,
    /// What is missing.
    pub losses: Losses,
}

impl Client {
    /// Reads a buffer. Its trace has the number of the buffer.
    ///
    /// # Errors
    ///
    /// Fails as the calls `GetBufferConfig`, `GetSideData` and `GetChunkHandle`, and if a chunk
    /// cannot be read.
    pub fn trace_data(&self, buffer: BufferDescriptor) -> Result<TraceData, Error> {
        let config = self.get_buffer_config(buffer)?;
        let side = self.get_side_data(buffer)?;
        let chunks = (0..config.num_chunks).map(|chunk| self.get_chunk_handle(buffer, chunk));
        let packets = read_chunks(&config, chunks, side.written)?;
        let notes = notes_of_archive(side.archive).map_err(io::Error::other)?;
        let lost = side.written - packets.len() as u64;
        let lost = BTreeMap::from([(TraceId(buffer.0), lost)]);
        Ok(TraceData { notes: since(notes, &lost), packets, losses: side.losses })
    }
}

/// Returns the last bytes of a buffer to which `written` bytes were written, in order.
fn read_chunks(
    config: &BufferConfig,
    chunks: impl Iterator<Item = Result<File, Error>>,
    written: u64,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for chunk in chunks {
        chunk?.take(config.chunk_bytes()).read_to_end(&mut bytes)?;
    }
    let size = bytes.len() as u64;
    let is_wrapped = config.is_circular && written > size;
    let end = if is_wrapped { written % size } else { written.min(size) } as usize;
    match is_wrapped {
        true => bytes.rotate_left(end),
        false => bytes.truncate(end),
    }
    Ok(bytes)
}
