//! Copies of rolling buffers, and how they become blocks of the archive.

use trace_protocol::archive;

use super::Recording;
use crate::archive::Block;
use crate::machine::{ProviderId, SaveRequest};
use crate::tape::Tape;

/// Copies of one provider's buffers that may wait to be sanitized.
const MAX_WAITING: usize = 2;

impl Recording {
    /// Copies a rolling buffer. After this its provider may write it again.
    pub(crate) fn save(&mut self, id: ProviderId, request: SaveRequest) {
        while self.tapes.get(&id).is_some_and(|tape| tape.waiting() >= MAX_WAITING) {
            self.sanitize(id);
        }
        let providers = self.tapes.len();
        if let Some(tape) = self.tapes.get_mut(&id) {
            let slot = match (self.pool.as_mut(), tape.guarded_layout()) {
                (Some(pool), Some(layout)) => pool.place(&layout, providers),
                _ => None,
            };
            tape.copy(request, slot);
            self.waiting.push_back(id);
        }
    }

    /// Tells whether a copy waits to be sanitized.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sanitizes the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self) {
        if let Some(id) = self.waiting.pop_front() {
            self.sanitize(id);
        }
    }

    /// Sanitizes the oldest copy of one provider, if it has one.
    fn sanitize(&mut self, id: ProviderId) {
        let copy = self.tapes.get_mut(&id).and_then(Tape::take_copy);
        let Some(copy) = copy else { return };
        let mut block = self.block();
        let Some(tape) = self.tapes.get_mut(&id) else { return };
        let section = section(&mut block, &mut self.last_section, tape.id());
        block.notes.mark = tape.sanitize(copy, &mut block.words);
        self.push(id, block, section);
    }

    /// Gives a block to the writer, unless it holds nothing but the section record.
    fn push(&mut self, id: ProviderId, mut block: Block, section: Section) {
        if block.words.len() <= section.words {
            self.last_section = section.before;
            block.words.clear();
        }
        if let Some(tape) = self.tapes.get_mut(&id) {
            tape.bytes += block.words.len() as u64 * 8;
        }
        self.writer.push(block);
    }
}

/// What was put before a block, and what to go back to if the block is not used.
struct Section {
    words: usize,
    before: Option<u32>,
}

/// Makes `block` one of the provider `id`.
fn section(block: &mut Block, last: &mut Option<u32>, id: u32) -> Section {
    let before = last.replace(id);
    if before != Some(id) {
        archive::section(&mut block.words, id);
    }
    Section { words: block.words.len(), before }
}
