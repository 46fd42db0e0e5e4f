//! A trace with the code of its time.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::note::{Note, SpaceId, TraceId};
use crate::flow::{FlowDecoder, FlowError, Image, Item};
use crate::pt::Timing;

/// The number of bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 16;

/// Decodes a trace: a [`FlowDecoder`] whose code changes where that of the program did.
#[derive(Debug)]
pub struct TraceDecoder<'a, R> {
    notes: &'a [Note],
    packets: R,
    /// The number of bytes of `packets` that were read.
    offset: u64,
    flow: FlowDecoder,
    /// The parts that follow, with their first note behind the position.
    parts: VecDeque<Part>,
    current: Option<Part>,
    is_ended: bool,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    offset: u64,
    space: SpaceId,
    /// The number of notes before it.
    notes: usize,
}

impl<'a, R: Read> TraceDecoder<'a, R> {
    /// Creates a decoder of the trace with this number and these packets.
    pub fn new(notes: &'a [Note], trace: TraceId, packets: R) -> Self {
        let part = |(index, note): (usize, &Note)| match note {
            Note::Position { trace: of, offset, space } if *of == trace => {
                Some(Part { offset: *offset, space: *space, notes: index })
            }
            _ => None,
        };
        let parts = notes.iter().enumerate().filter_map(part).collect();
        let flow = FlowDecoder::new(Image::new());
        Self { notes, packets, offset: 0, flow, parts, current: None, is_ended: false }
    }

    /// Refines the time by MTC and CYC packets, such as with [`Recording::timing`].
    ///
    /// [`Recording::timing`]: super::Recording::timing
    #[must_use]
    pub fn with_timing(mut self, timing: Timing) -> Self {
        self.flow = self.flow.with_timing(timing);
        self
    }

    /// Returns the decoder of the current part, for its time, offset and code.
    pub fn flow(&self) -> &FlowDecoder {
        &self.flow
    }

    /// Returns the address space of the item returned last.
    pub fn space(&self) -> Option<SpaceId> {
        self.current.map(|part| part.space)
    }

    /// Returns the number of notes before that item.
    pub fn notes(&self) -> usize {
        self.current.map_or(0, |part| part.notes)
    }

    /// Returns the next instruction or event, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Fails if the packets cannot be read. A contradiction of packets and code is a value: the
    /// next call continues at the next PSB.
    pub fn next_item(&mut self) -> io::Result<Option<Result<Item, FlowError>>> {
        loop {
            if let Some(item) = self.flow.next_item() {
                return Ok(Some(item));
            }
            if self.is_ended {
                return Ok(None);
            }
            self.read()?;
        }
    }

    /// Passes the next bytes to the flow decoder, up to the next part.
    fn read(&mut self) -> io::Result<()> {
        while self.parts.front().is_some_and(|part| part.offset <= self.offset) {
            if let Some(part) = self.parts.pop_front() {
                self.begin(part);
            }
        }
        let next = self.parts.front().map_or(u64::MAX, |part| part.offset);
        let limit = (next - self.offset).min(PIECE_BYTES as u64);
        let mut bytes = Vec::new();
        self.packets.by_ref().take(limit).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        self.flow.push(&bytes);
        if bytes.is_empty() {
            self.is_ended = true;
            self.flow.end();
        }
        Ok(())
    }

    /// Makes the code that of `part`.
    fn begin(&mut self, part: Part) {
        let from = match self.current.replace(part) {
            Some(last) if last.space == part.space => last.notes,
            _ => {
                *self.flow.image_mut() = self.first_versions(part);
                0
            }
        };
        let notes = self.notes.get(from..part.notes).unwrap_or_default();
        insert(self.flow.image_mut(), notes.iter(), part.space);
    }

    /// Returns the code that is executed after `part` begins, each address in its first version.
    fn first_versions(&self, part: Part) -> Image {
        let mut image = Image::new();
        let notes = self.notes.get(part.notes..).unwrap_or_default();
        insert(&mut image, notes.iter().rev(), part.space);
        image
    }
}

fn insert<'a>(image: &mut Image, notes: impl Iterator<Item = &'a Note>, in_space: SpaceId) {
    for note in notes {
        match note {
            Note::Code { space, address, bytes } if *space == in_space => {
                image.insert(*address, bytes);
            }
            _ => {}
        }
    }
}
