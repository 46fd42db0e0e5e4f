//! Decoding of blocks from the code in memory.

use std::os::unix::fs::FileExt;
use std::rc::Rc;

use super::blocks::{Block, BlockEnd, BREAKPOINT};
use super::branch::Branch;
use super::code::Space;
use super::maps::{page_of, PAGE_BYTES};
use super::memory::OwnMemory;
use super::ptrace::Tid;
use crate::flow::DecodedInstruction;
use crate::recording::{Mapping, Note};

/// The largest mapping that is searched for restartable sequences. Others are stepped.
const MAX_SCANNED: u64 = 1 << 30;

/// The bytes of a part of the search.
const SCANNED_AT_ONCE: u64 = 1 << 16;

/// Whether a block can be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Armed {
    Ready,
    /// The code in memory is another.
    Changed,
    /// There can be no breakpoint.
    Steps,
}

impl Space {
    /// Returns the block at `ip`, or `None` if there is no code. New code is added to `notes`.
    pub(super) fn block(&mut self, tid: Tid, ip: u64, notes: &mut Vec<Note>) -> Option<Rc<Block>> {
        if let Some(block) = self.blocks.at(ip) {
            return Some(block);
        }
        let block = Rc::new(self.decode_block(tid, ip, notes)?);
        self.blocks.insert(ip, block.clone());
        Some(block)
    }

    /// Sets the breakpoint at the end of a block, and compares its code with memory.
    pub(super) fn arm(&mut self, tid: Tid, block: &Block) -> Armed {
        if let (BlockEnd::Branch(branch, first), Some(last)) = (block.end, block.last()) {
            if !self.plant(branch, first, last) {
                return Armed::Steps;
            }
        }
        match self.is_as_in_memory(tid, block) {
            Some(true) => Armed::Ready,
            Some(false) => {
                self.blocks.clear();
                Armed::Changed
            }
            None => Armed::Steps,
        }
    }

    /// Sets a breakpoint, unless there is one. Returns whether there is one.
    fn plant(&mut self, branch: Branch, first: u8, decoded: DecodedInstruction) -> bool {
        let at = decoded.0.ip;
        if self.plants.at(at).is_none() && self.is_inside_instruction(at) {
            self.plants.refuse(at);
        }
        self.plants.permits(at) && self.plants.set(&self.memory, first, branch, decoded)
    }

    /// Returns whether the code of a block is in memory, with a breakpoint at its end, or `None` if
    /// it cannot be read.
    fn is_as_in_memory(&mut self, tid: Tid, block: &Block) -> Option<bool> {
        let mut found = OwnMemory(tid).read_parts(&block.parts)?;
        if found == block.executed {
            return Some(true);
        }
        // There may be other breakpoints.
        let mut rest = &mut found[..];
        for (address, size) in &block.parts {
            let (part, others) = rest.split_at_mut_checked(*size)?;
            self.plants.show_original(*address, part);
            rest = others;
        }
        let BlockEnd::Branch(_, first) = block.end else { return Some(found == block.executed) };
        let has_breakpoint = block.last().is_some_and(|it| self.plants.at(it.0.ip).is_some());
        if let Some(byte) = found.get_mut(block.last_at).filter(|byte| **byte == first) {
            *byte = BREAKPOINT;
        }
        Some(has_breakpoint && found == block.executed)
    }

    fn decode_block(&mut self, tid: Tid, ip: u64, notes: &mut Vec<Note>) -> Option<Block> {
        let (mut block, mut next) = (Block::new(), ip);
        loop {
            let fetched = self.fetch(tid, next, notes);
            let is_fixed = self.is_fixed(next);
            let is_first = block.instructions.is_empty();
            let Some(decoded) = fetched.filter(|_| is_fixed || is_first) else { break };
            block.push(decoded, self.code_of(next)?);
            if !is_fixed {
                return block.complete();
            }
            match block.next_of_last() {
                Some(to) if !block.is_full_or_has(to) => next = to,
                _ => break,
            }
        }
        block.end_at_last();
        block.complete()
    }

    /// Returns whether the code at `ip` changes only by system calls of its process.
    fn is_fixed(&mut self, ip: u64) -> bool {
        let Some(known) = self.mapping_of(ip) else { return false };
        if !known.is_private || self.blocks.is_changing(ip) {
            return false;
        }
        let mapping = &known.mapping;
        let key = (mapping.path.clone(), mapping.offset);
        if let Some(is_restartable) = self.blocks.restartable.get(&key) {
            return !is_restartable;
        }
        let is_restartable = !key.0.is_empty() && self.has_restartable_sequences(mapping);
        self.blocks.restartable.insert(key, is_restartable);
        !is_restartable
    }

    /// Returns whether a mapping has handlers of aborted restartable sequences, to which the kernel
    /// moves a thread. A signature is before each; glibc has it only as an operand of `mov`.
    fn has_restartable_sequences(&self, mapping: &Mapping) -> bool {
        const SIGNATURE: [u8; 4] = 0x5305_3053_u32.to_le_bytes();
        let is_handler = |five: &[u8]| match five {
            [before, signature @ ..] => signature == SIGNATURE && !(0xb8..=0xbf).contains(before),
            [] => false,
        };
        let (mut bytes, mut from) = (vec![0; SCANNED_AT_ONCE as usize], 0);
        while from < mapping.size {
            let wanted = (mapping.size - from).min(SCANNED_AT_ONCE);
            let part = bytes.get_mut(..wanted as usize).unwrap_or_default();
            let size = self.memory.read_at(part, mapping.address + from).unwrap_or(0);
            let found = part.get(..size).unwrap_or_default();
            if mapping.size > MAX_SCANNED || found.windows(5).any(is_handler) {
                return true;
            }
            from += size as u64;
            if size as u64 != wanted {
                // The file ends before its mapping.
                from = page_of(from) + PAGE_BYTES;
            } else if from < mapping.size {
                // A signature may lie across two parts.
                from -= 4;
            }
        }
        false
    }
}
