//! A buffer as a trace that can be decoded.

use std::fs::File;
use std::io::{self, Read};

use super::client::{Client, Error};
use crate::controller::{BufferConfig, BufferDescriptor};
use crate::recording::{notes_of_archive, Note};

/// The packets of a buffer, and what is required to decode them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceData {
    /// The threads and the code, with offsets in `packets`.
    pub notes: Vec<Note>,
    /// The packets, from the oldest to the newest.
    pub packets: Vec<u8>,
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
        Ok(TraceData { notes: since(notes, lost), packets })
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

/// Returns the notes for a trace that has lost its first bytes.
///
/// Of the positions in the lost bytes only the last one is kept: it has the code at the beginning.
fn since(notes: Vec<Note>, lost: u64) -> Vec<Note> {
    let is_lost = |note: &Note| matches!(note, Note::Position { offset, .. } if *offset <= lost);
    let first = notes.iter().rposition(is_lost);
    let moved = notes.into_iter().enumerate().filter_map(|(index, note)| match note {
        Note::Position { .. } if first.is_some_and(|first| index < first) => None,
        Note::Position { trace, offset, space } => {
            Some(Note::Position { trace, offset: offset.saturating_sub(lost), space })
        }
        note => Some(note),
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{SpaceId, TraceId};

    #[test]
    fn positions_in_lost_bytes_move_to_the_beginning() {
        let at =
            |offset, space| Note::Position { trace: TraceId(1), offset, space: SpaceId(space) };
        let code = Note::Code { space: SpaceId(0), address: 1, bytes: vec![1] };
        let notes = vec![at(0, 0), at(10, 1), code.clone(), at(20, 2), at(30, 3)];
        assert_eq!(since(notes.clone(), 0), notes);
        assert_eq!(since(notes.clone(), 19), [at(0, 1), code.clone(), at(1, 2), at(11, 3)]);
        assert_eq!(since(notes.clone(), 20), [code.clone(), at(0, 2), at(10, 3)]);
        assert_eq!(since(notes, 99), [code, at(0, 3)]);
    }
}
