//! A trace with the code of its time.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::note::{Note, SpaceId, TraceId};
use super::spaces::{Part, Spaces};
use crate::flow::{FlowDecoder, FlowError, Image, Item};
use crate::pt::Timing;

/// The number of bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 16;

/// Decodes a trace: a [`FlowDecoder`] whose code changes where that of the program did.
#[derive(Debug)]
pub struct TraceDecoder<'a, R> {
    packets: R,
    /// The number of bytes of `packets` that were read.
    offset: u64,
    flow: FlowDecoder,
    /// The parts that follow, with their first note behind the position.
    parts: VecDeque<Part>,
    current: Option<Part>,
    spaces: Spaces<'a>,
    is_ended: bool,
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
        let parts: VecDeque<_> = notes.iter().enumerate().filter_map(part).collect();
        let (flow, spaces) = (FlowDecoder::new(Image::new()), Spaces::new(notes, &parts));
        Self { packets, offset: 0, flow, parts, current: None, spaces, is_ended: false }
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
                self.spaces.enter(self.current.replace(part), part, &mut self.flow);
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
}
