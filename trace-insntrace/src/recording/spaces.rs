//! The code of the address spaces of a trace.

use std::collections::HashMap;

use super::note::{Note, SpaceId};
use crate::flow::{Code, FlowDecoder, Image};

/// The most memory of code that is kept while another address space is decoded.
const MAX_KEPT_BYTES: usize = 256 << 20;

/// A part of a trace, in one address space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) space: SpaceId,
    /// The number of notes before it.
    pub(super) notes: usize,
}

/// The address spaces of a trace, as that of a CPU, which returns to each many times.
#[derive(Debug)]
pub(super) struct Spaces<'a> {
    known: HashMap<SpaceId, Space<'a>>,
    /// The memory of all code that is kept, and the most of it.
    kept_bytes: usize,
    most_bytes: usize,
    /// How often code was put together.
    #[cfg(test)]
    built: usize,
}

#[derive(Debug, Default)]
struct Space<'a> {
    /// The number of parts that follow.
    parts: usize,
    /// Its code, each with the number of notes before it.
    notes: Vec<(usize, u64, &'a [u8])>,
    /// How many of `notes` the code has in their order.
    applied: usize,
    /// The bytes of `notes`.
    bytes: usize,
    /// The code, if it is kept.
    kept: Option<Code>,
}

impl<'a> Spaces<'a> {
    pub(super) fn new<'p>(notes: &'a [Note], parts: impl IntoIterator<Item = &'p Part>) -> Self {
        let mut known: HashMap<_, Space<'_>> = HashMap::new();
        for part in parts {
            known.entry(part.space).or_default().parts += 1;
        }
        for (index, note) in notes.iter().enumerate() {
            let Note::Code { space, address, bytes } = note else { continue };
            let Some(space) = known.get_mut(space) else { continue };
            space.notes.push((index, *address, bytes));
            space.bytes += bytes.len();
        }
        Self {
            known,
            kept_bytes: 0,
            most_bytes: MAX_KEPT_BYTES,
            #[cfg(test)]
            built: 0,
        }
    }

    /// Makes the code of `flow`, which is that of `last`, that of `part`.
    pub(super) fn enter(&mut self, last: Option<Part>, part: Part, flow: &mut FlowDecoder) {
        let last = last.map(|last| last.space);
        if last != Some(part.space) {
            let mut code = self.take(part);
            flow.swap_code(&mut code);
            if let Some(last) = last {
                self.keep(last, code);
            }
        }
        let Some(space) = self.known.get_mut(&part.space) else { return };
        space.parts = space.parts.saturating_sub(1);
        let until = space.notes.partition_point(|(index, ..)| *index < part.notes);
        let new = space.notes.get(space.applied..until).unwrap_or_default();
        if !new.is_empty() {
            let image = flow.image_mut();
            new.iter().for_each(|(_, address, bytes)| image.insert(*address, bytes));
            space.applied = until;
        }
    }

    /// Returns the code of the space of `part`, without the notes that follow `applied`.
    fn take(&mut self, part: Part) -> Code {
        let Some(space) = self.known.get_mut(&part.space) else { return Code::new(Image::new()) };
        if let Some(code) = space.kept.take() {
            self.kept_bytes = self.kept_bytes.saturating_sub(space.bytes + code.decoded_bytes());
            return code;
        }
        #[cfg(test)]
        {
            self.built += 1;
        }
        space.applied = 0;
        Code::new(space.first_versions(part))
    }

    /// Keeps the code of a space that follows again.
    fn keep(&mut self, space: SpaceId, code: Code) {
        let Some(space) = self.known.get_mut(&space).filter(|space| space.parts > 0) else {
            return;
        };
        self.kept_bytes += space.bytes + code.decoded_bytes();
        space.kept = Some(code);
        if self.kept_bytes > self.most_bytes {
            self.known.values_mut().for_each(|space| space.kept = None);
            self.kept_bytes = 0;
        }
    }
}

impl Space<'_> {
    /// Returns the code that is executed after `part` begins, each address in its first version.
    fn first_versions(&self, part: Part) -> Image {
        let mut image = Image::new();
        let later = self.notes.iter().rev().take_while(|(index, ..)| *index >= part.notes);
        later.for_each(|(_, address, bytes)| image.insert(*address, bytes));
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Item;
    use crate::pt::{ExecMode, PsbState, Writer};

    const START: u64 = 0x1000;

    /// Decodes a part in which the first instruction jumps by a register. Returns whether its code
    /// is that.
    fn decodes(flow: &mut FlowDecoder) -> bool {
        let mut writer = Writer::new();
        writer.psb(PsbState { tsc: None, cbr: None, mode: ExecMode::LONG, ip: None });
        writer.enable(START, ExecMode::LONG);
        writer.indirect(START);
        writer.async_disable(START, None);
        flow.push(&writer.take());
        let items = std::iter::from_fn(|| flow.next_item());
        items.filter(|item| matches!(item, Ok(Item::Instruction(_)))).count() == 1
    }

    #[test]
    fn the_code_of_each_space_is_put_together_once() {
        let code = |space, bytes: &[u8]| Note::Code {
            space: SpaceId(space),
            address: START,
            bytes: bytes.to_vec(),
        };
        let (jump, nop) = (&[0xff, 0xe0][..], &[0x90, 0x90][..]);
        // The second space has its code only after its first part.
        let mut notes = vec![code(0, jump)];
        let mut parts = Vec::new();
        for round in 0..300 {
            let part = |space, notes| Part { offset: 0, space: SpaceId(space), notes };
            parts.extend([part(0, notes.len()), part(1, notes.len())]);
            match round {
                100 => notes.extend([code(1, jump), code(0, nop)]),
                200 => notes.extend([code(0, jump), code(1, nop)]),
                _ => {}
            }
        }
        let mut spaces = Spaces::new(&notes, &parts);
        let (mut flow, mut last) = (FlowDecoder::new(Image::new()), None);
        for (number, part) in parts.into_iter().enumerate() {
            spaces.enter(last.replace(part), part, &mut flow);
            let is_jump = match (number / 2, part.space.0) {
                (0..=100, _) => true,
                (101..=200, space) => space == 1,
                (_, space) => space == 0,
            };
            assert_eq!(decodes(&mut flow), is_jump, "{number}");
        }
        assert_eq!((spaces.built, spaces.kept_bytes), (2, 0));
    }

    #[test]
    fn code_that_takes_too_much_memory_is_put_together_again() {
        let note = |space| Note::Code { space: SpaceId(space), address: 0, bytes: vec![0xff; 100] };
        let notes = [note(0), note(1), note(2)];
        let part = |space| Part { offset: 0, space: SpaceId(space), notes: 3 };
        let parts = [0, 1, 2, 0, 1, 2].map(part);
        let mut spaces = Spaces { most_bytes: 199, ..Spaces::new(&notes, &parts) };
        let (mut flow, mut last) = (FlowDecoder::new(Image::new()), None);
        for part in parts {
            spaces.enter(last.replace(part), part, &mut flow);
            assert!(spaces.kept_bytes <= spaces.most_bytes);
            assert_eq!(flow.image().read(0, &mut [0]), 1);
        }
        assert!(spaces.built > 3);
    }
}
