//! A buffer as a trace that can be decoded.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use super::client::{malformed, Client, Error};
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
        if !config.has_allowed_size() {
            return Err(malformed().into());
        }
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
    match written.checked_rem(size) {
        Some(end) if config.is_circular && written > size => bytes.rotate_left(end as usize),
        _ => bytes.truncate(written.min(size) as usize),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BufferConfig = BufferConfig {
        num_chunks: 2,
        chunk_order: 0,
        is_circular: true,
        ctl: 0,
        address_space_match: 0,
        address_ranges: [(0, 0); 2],
    };

    fn chunk(bytes: &[u8]) -> Result<File, Error> {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    }

    #[test]
    fn a_circular_buffer_begins_behind_its_newest_byte() {
        let read = |written| {
            read_chunks(&CONFIG, [chunk(&[1, 2]), chunk(&[3, 4])].into_iter(), written).unwrap()
        };
        assert_eq!([0, 3].map(read), [vec![], vec![1, 2, 3]]);
        assert_eq!([4, 5, 8].map(read), [vec![1, 2, 3, 4], vec![2, 3, 4, 1], vec![1, 2, 3, 4]]);
    }

    #[test]
    fn a_service_without_chunks_is_harmless() {
        for chunks in [vec![], vec![chunk(&[])]] {
            assert!(read_chunks(&CONFIG, chunks.into_iter(), 7).unwrap().is_empty());
        }
    }
}
