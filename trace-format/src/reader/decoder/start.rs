//! The start of an archive, which determines its byte order.

use super::super::ReadError;
use super::{Decoder, State};
use crate::decode;
use crate::layout::{MAGIC_WORD, MAGIC_WORD_REVERSED, MAX_RECORD_WORDS, WORD_BYTES};
use crate::words;

impl Decoder {
    /// Checks the first record of the archive.
    pub(super) fn start(&mut self) -> Result<bool, ReadError> {
        let first_word = self.buffer.peek();
        let is_archive = match first_word {
            Some(MAGIC_WORD) => Some(true),
            Some(MAGIC_WORD_REVERSED) => {
                self.stats.is_big_endian = true;
                self.at_record = State::BigEndian { header_at: u64::MAX };
                Some(true)
            }
            None => self.is_finished.then_some(false),
            Some(_) if self.limits.magic_number => Some(false),
            Some(header) => self.starts_with_record(header),
        };
        match is_archive {
            Some(true) => {
                self.stats.lacks_magic_number =
                    !matches!(first_word, Some(MAGIC_WORD | MAGIC_WORD_REVERSED));
                self.state = self.at_record;
                self.is_at_record()
            }
            Some(false) => {
                self.state = State::End;
                Err(ReadError::NotAnArchive { first_word })
            }
            None => Ok(false),
        }
    }

    /// Returns whether the archive starts with a well-formed record, or `None` if more bytes are
    /// needed.
    fn starts_with_record(&self, header: u64) -> Option<bool> {
        let size = decode::record_bytes(header).unwrap_or(u64::MAX);
        if size > (MAX_RECORD_WORDS * WORD_BYTES) as u64 {
            return Some(false);
        }
        match self.buffer.front(size as usize) {
            Some(record) => Some(decode::is_first_record(record)),
            None => self.is_finished.then_some(false),
        }
    }

    /// Converts the received part of the next record, its header or all of it, to little endian.
    pub(super) fn reverse(&mut self, header_at: u64) -> bool {
        let offset = self.buffer.offset();
        if header_at != offset {
            let Some(header) = self.buffer.front_mut(WORD_BYTES) else { return true };
            header.reverse();
            self.state = State::BigEndian { header_at: offset };
        }
        let size = self.buffer.peek().map_or(0, |header| decode::record_bytes(header).unwrap_or(0));
        if size > self.limits.record_bytes.min(self.buffer.filled() as u64) {
            return true;
        }
        if let Some(record) = self.buffer.front_mut(size as usize) {
            let mut is_header = true;
            words::change(record, |_, word| match std::mem::take(&mut is_header) {
                true => word,
                false => word.swap_bytes(),
            });
        }
        true
    }
}
