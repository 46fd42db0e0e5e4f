//! The blocks of an address space: instructions that are executed without a stop.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, Register};

use super::branch::Branch;
use super::calls::SYSTEM_CALL;
use super::maps::page_of;
use super::ptrace::Tid;
use crate::flow::{DecodedInstruction, End, Instruction};

/// The most instructions of a block. Longer ones are stepped.
const MAX_INSTRUCTIONS: usize = 2048;

/// The most blocks in the cache. When it is full, it is cleared.
const MAX_BLOCKS: usize = 1 << 16;

/// The breakpoint instruction, `int3`.
pub(super) const BREAKPOINT: u8 = 0xcc;

/// Instructions that are executed one after another. Direct jumps and calls are followed.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) instructions: Vec<DecodedInstruction>,
    pub(super) end: BlockEnd,
    /// The places of the code, and its bytes while the block is executed.
    pub(super) parts: Vec<(u64, usize)>,
    pub(super) executed: Vec<u8>,
    /// The last instruction, as an index of `executed`.
    pub(super) last_at: usize,
}

/// What the last instruction of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockEnd {
    /// A branch with this first byte, which can have a breakpoint.
    Branch(Branch, u8),
    /// `syscall`, which the kernel reports.
    SystemCall,
    /// The block has to be executed in single steps.
    Steps,
}

/// The known blocks of an address space, and where there may be none.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    known: HashMap<u64, Rc<Block>>,
    /// The pages with code of blocks.
    pages: BTreeSet<u64>,
    /// Code that a system call may change now.
    changing: Vec<Change>,
    /// Whether the mappings may have changed since they were read.
    pub(super) is_stale: bool,
    /// The files of mappings that may have restartable sequences.
    pub(super) restartable: HashMap<(String, u64), bool>,
    /// Whether all code has to be executed in single steps.
    pub(super) steps_only: bool,
}

/// A system call of a thread that may change code.
#[derive(Debug)]
struct Change {
    tid: Tid,
    addresses: Range<u64>,
    /// Whether it creates a process that uses the same memory.
    lends: bool,
}

impl Blocks {
    /// Forgets all blocks, and keeps new ones away from these addresses until the call of `tid`
    /// returns.
    pub(super) fn begin_change(&mut self, tid: Tid, addresses: Range<u64>, lends: bool) {
        self.clear();
        self.changing.push(Change { tid, addresses, lends });
    }

    /// The system call of `tid` has returned.
    pub(super) fn end_change(&mut self, tid: Tid) {
        let before = self.changing.len();
        self.changing.retain(|change| change.tid != tid);
        if self.changing.len() != before {
            self.is_stale = true;
            self.clear();
        }
    }

    /// Returns whether a system call of `tid`, or of any thread, creates a process that uses the
    /// same memory.
    pub(super) fn lends(&self, tid: Option<Tid>) -> bool {
        let of = |change: &Change| tid.is_none_or(|tid| tid == change.tid);
        self.changing.iter().any(|change| change.lends && of(change))
    }

    /// Returns whether there may be code of blocks at these addresses.
    pub(super) fn any_in(&self, addresses: &Range<u64>) -> bool {
        self.pages.range(page_of(addresses.start)..addresses.end).next().is_some()
    }

    /// Returns the block at `ip`.
    pub(super) fn at(&self, ip: u64) -> Option<Rc<Block>> {
        self.known.get(&ip).cloned()
    }

    pub(super) fn insert(&mut self, ip: u64, block: Rc<Block>) {
        if self.known.len() == MAX_BLOCKS {
            self.clear();
        }
        let pages = block.parts.iter().flat_map(|(at, size)| [*at, at + *size as u64 - 1]);
        self.pages.extend(pages.map(page_of));
        self.known.insert(ip, block);
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.pages.clear();
    }

    pub(super) fn is_changing(&self, ip: u64) -> bool {
        self.changing.iter().any(|change| change.addresses.contains(&ip))
    }
}

impl Block {
    pub(super) fn new() -> Self {
        let end = BlockEnd::Steps;
        Self { instructions: Vec::new(), end, parts: Vec::new(), executed: Vec::new(), last_at: 0 }
    }

    pub(super) fn last(&self) -> Option<DecodedInstruction> {
        self.instructions.last().copied()
    }

    pub(super) fn push(&mut self, decoded: DecodedInstruction, code: &[u8]) {
        let Instruction { ip, length, .. } = decoded.0;
        match self.parts.last_mut() {
            Some((start, size)) if *start + *size as u64 == ip => *size += usize::from(length),
            _ => self.parts.push((ip, length.into())),
        }
        self.last_at = self.executed.len();
        self.executed.extend(code);
        self.instructions.push(decoded);
    }

    fn last_code(&self) -> &[u8] {
        self.executed.get(self.last_at..).unwrap_or_default()
    }

    fn last_branch(&self) -> Option<Branch> {
        Branch::decode(self.last()?.0.ip, self.last_code())
    }

    /// Returns where the block continues, or `None` if it ends with its last instruction.
    pub(super) fn next_of_last(&self) -> Option<u64> {
        match self.last()?.1 {
            End::Next(to) | End::AddressSpace(to) => (!needs_step(self.last_code())).then_some(to),
            End::Jump(to) | End::Call { target: to, .. } => self.last_branch().map(|_| to),
            _ => None,
        }
    }

    pub(super) fn is_full_or_has(&self, ip: u64) -> bool {
        let has = || self.instructions.iter().any(|(instruction, _)| instruction.ip == ip);
        self.instructions.len() >= MAX_INSTRUCTIONS || has()
    }

    /// Ends the block with its last instruction.
    pub(super) fn end_at_last(&mut self) {
        let first = self.last_code().first().copied();
        self.end = match (self.last_branch(), first) {
            (Some(branch), Some(first)) => BlockEnd::Branch(branch, first),
            _ if self.last_code() == SYSTEM_CALL => BlockEnd::SystemCall,
            _ => BlockEnd::Steps,
        };
    }

    /// Returns the block with the breakpoint at its end, or `None` if it has no instruction.
    pub(super) fn complete(mut self) -> Option<Self> {
        self.last()?;
        if matches!(self.end, BlockEnd::Branch(..)) {
            *self.executed.get_mut(self.last_at)? = BREAKPOINT;
        }
        Some(self)
    }
}

/// Returns whether an instruction that does not branch has effects beside those on its operands, or
/// is always an error.
fn needs_step(code: &[u8]) -> bool {
    let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
    let loads_flags = matches!(
        instruction.mnemonic(),
        Mnemonic::Pushf | Mnemonic::Pushfq | Mnemonic::Popf | Mnemonic::Popfq
    );
    loads_flags
        || instruction.flow_control() != FlowControl::Next
        || instruction.op_count() > 0 && instruction.op0_register() == Register::SS
}
