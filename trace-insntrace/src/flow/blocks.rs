//! A cache of decoded code: instructions up to the next branch.

use std::ops::Range;

use super::code::{decode_one, End};
use super::hash::AddressMap;
use super::image::Image;
use super::item::Instruction;
use super::FlowErrorKind;

/// The most instructions of a block. The limit keeps overlapping blocks small.
const MAX_BLOCK: usize = 64;

/// The most instructions in the cache. When it is full, it is cleared.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// The most blocks in the cache. Those of code that is missing have no instructions.
const MAX_BLOCKS: usize = 1 << 20;

/// Instructions that are executed one after another.
///
/// Direct jumps forward do not end a block. Without jumps backward, it passes no instruction twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    ip: u64,
    /// The first instruction, as an index.
    first: u32,
    count: u32,
    pub(super) end: End,
    /// The index of the block that was executed next, by [`Exit::taken`]. It is a guess: the
    /// address of the block decides. So it is never wrong for long, even if the cache was cleared.
    next: [u32; 2],
}

impl Block {
    /// No code, at any address.
    const NONE: Self = Self {
        ip: 0,
        first: 0,
        count: 0,
        end: End::Fault { ip: 0, kind: FlowErrorKind::NoCode },
        next: [u32::MAX; 2],
    };

    /// Returns the indexes of its instructions.
    #[inline]
    pub(super) fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// Where a block was left.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Exit {
    /// The index of the block.
    pub(super) block: u32,
    /// Whether its branch was taken, or its call has returned.
    pub(super) taken: bool,
}

impl Exit {
    /// Returns the exit of the same block whose branch was taken, or that behind its call.
    #[inline]
    pub(super) fn taken(self) -> Self {
        Self { taken: true, ..self }
    }
}

/// The blocks that were decoded so far.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    by_ip: AddressMap<u32>,
    instructions: Vec<Instruction>,
    bitness: u32,
}

impl Blocks {
    pub(super) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            by_ip: AddressMap::default(),
            instructions: Vec::new(),
            bitness: 64,
        }
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.by_ip.clear();
        self.instructions.clear();
    }

    /// Appends instructions of no block, and returns their indexes. Others may be removed.
    pub(super) fn append(&mut self, instructions: &[Instruction]) -> Range<usize> {
        if self.instructions.len() + instructions.len() > MAX_INSTRUCTIONS {
            self.clear();
        }
        let first = self.instructions.len();
        self.instructions.extend_from_slice(instructions);
        first..self.instructions.len()
    }

    /// Returns about how much memory the cache takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.instructions)
    }

    pub(super) fn bitness(&self) -> u32 {
        self.bitness
    }

    /// Sets whether code is 16, 32 or 64 bit.
    pub(super) fn set_bitness(&mut self, bitness: u32) {
        if self.bitness != bitness {
            self.clear();
            self.bitness = bitness;
        }
    }

    /// Returns the block at `ip` and its index, where execution comes from `exit`. Instructions of
    /// other blocks may be removed from the cache.
    #[inline]
    pub(super) fn at(&mut self, ip: u64, exit: Exit, image: &Image) -> (u32, &Block) {
        let index = match self.known(ip, exit) {
            Some(index) => index,
            None => self.search(ip, exit, image),
        };
        (index, self.blocks.get(index as usize).unwrap_or(&Block::NONE))
    }

    /// Returns the index of the block, if execution continued from `exit` to `ip` before.
    #[inline]
    fn known(&self, ip: u64, exit: Exit) -> Option<u32> {
        let [not_taken, taken] = self.blocks.get(exit.block as usize)?.next;
        let index = if exit.taken { taken } else { not_taken };
        let block = self.blocks.get(index as usize)?;
        (block.ip == ip).then_some(index)
    }

    #[inline(never)]
    fn search(&mut self, ip: u64, exit: Exit, image: &Image) -> u32 {
        let found = self.by_ip.get(&ip).copied();
        let index = found.unwrap_or_else(|| self.decode(ip, image));
        if let Some(last) = self.blocks.get_mut(exit.block as usize) {
            let [not_taken, taken] = &mut last.next;
            *if exit.taken { taken } else { not_taken } = index;
        }
        index
    }

    /// Returns the instruction at an index of [`Block::range`].
    #[inline]
    pub(super) fn instruction(&self, index: usize) -> Option<Instruction> {
        self.instructions.get(index).copied()
    }

    /// Returns the instructions at these indexes.
    #[inline]
    pub(super) fn instructions(&self, range: Range<usize>) -> &[Instruction] {
        self.instructions.get(range).unwrap_or_default()
    }

    /// Returns the index of the instruction at `ip` among those of a block.
    pub(super) fn find(&self, range: Range<usize>, ip: u64) -> Option<usize> {
        let found = self.instructions(range.clone()).iter().position(|found| found.ip == ip);
        found.map(|at| range.start + at)
    }

    #[cold]
    fn decode(&mut self, ip: u64, image: &Image) -> u32 {
        let has_space = self.instructions.len() + MAX_BLOCK <= MAX_INSTRUCTIONS;
        if !has_space || self.blocks.len() >= MAX_BLOCKS {
            self.clear();
        }
        let first = self.instructions.len();
        let mut end = End::Next(ip);
        while self.instructions.len() - first < MAX_BLOCK {
            let last = self.instructions(first..self.instructions.len()).last();
            let next = match (end, last) {
                (End::Next(next), _) => next,
                (End::Jump(to), Some(jump)) if to > jump.ip => to,
                _ => break,
            };
            end = match (decode_one(next, self.bitness, image), end) {
                (Ok((instruction, end)), _) => {
                    self.instructions.push(instruction);
                    end
                }
                // Tracing may end at the target of a jump.
                (Err(_), End::Jump(_)) => break,
                (Err(kind), _) => End::Fault { ip: next, kind },
            };
        }
        let count = (self.instructions.len() - first) as u32;
        let block = Block { ip, first: first as u32, count, end, next: [u32::MAX; 2] };
        let index = self.blocks.len() as u32;
        self.blocks.push(block);
        self.by_ip.insert(ip, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(blocks: &Blocks, block: &Block) -> Vec<u64> {
        blocks.instructions(block.range()).iter().map(|instruction| instruction.ip).collect()
    }

    fn decoded(blocks: &mut Blocks, ip: u64, image: &Image) -> (Vec<u64>, End) {
        let block = *blocks.at(ip, Exit::default(), image).1;
        (ips(blocks, &block), block.end)
    }

    fn blocks_of(code: &[u8]) -> (Blocks, Image) {
        let mut image = Image::new();
        image.insert(0, code);
        (Blocks::new(), image)
    }

    #[test]
    fn blocks_continue_at_targets_of_jumps_forward() {
        // nop; jmp 4; int3; (4) nop; jmp 0
        let (mut blocks, image) = blocks_of(b"\x90\xeb\x01\xcc\x90\xeb\xf9");
        assert_eq!(decoded(&mut blocks, 0, &image), (vec![0, 1, 4, 5], End::Jump(0)));
        assert_eq!(decoded(&mut blocks, 4, &image), (vec![4, 5], End::Jump(0)));
    }

    #[test]
    fn blocks_end_at_jumps_to_missing_code() {
        let (mut blocks, image) = blocks_of(b"\xeb\x10");
        assert_eq!(decoded(&mut blocks, 0, &image), (vec![0], End::Jump(0x12)));
    }

    #[test]
    fn a_guess_does_not_outlive_its_block() {
        let (mut blocks, image) = blocks_of(b"\xff\xe0\xff\xe0\xff\xe0");
        let (first, _) = blocks.at(0, Exit { block: u32::MAX, taken: true }, &image);
        let exit = Exit { block: first, taken: true };
        let of = |(index, block): (u32, &Block)| (index, block.ip);
        assert_eq!(of(blocks.at(2, exit, &image)), (1, 2));
        assert_eq!(of(blocks.at(2, exit, &image)), (1, 2));
        assert_eq!(of(blocks.at(4, exit, &image)), (2, 4));
        blocks.clear();
        assert_eq!(of(blocks.at(4, exit, &image)), (0, 4));
        assert_eq!(of(blocks.at(2, exit, &image)), (1, 2));
    }

    #[test]
    fn a_full_cache_is_cleared() {
        let (mut blocks, image) = blocks_of(&[0x90; 2 * MAX_INSTRUCTIONS / MAX_BLOCK]);
        for ip in 0..(MAX_INSTRUCTIONS / MAX_BLOCK) as u64 + 2 {
            let exit = Exit { block: blocks.blocks.len() as u32, taken: false };
            let block = *blocks.at(ip, exit, &image).1;
            assert_eq!(ips(&blocks, &block).first(), Some(&ip));
        }
        assert!(blocks.blocks.len() < 3);
    }

    #[test]
    fn a_cache_full_of_missing_code_is_cleared() {
        let (mut blocks, image) = blocks_of(b"");
        for ip in 0..MAX_BLOCKS as u64 + 2 {
            blocks.at(ip, Exit { block: u32::MAX, taken: false }, &image);
        }
        assert_eq!((blocks.blocks.len(), blocks.by_ip.len()), (2, 2));
    }
}
