//! Decoded code: instructions up to the next branch.

use std::ops::Range;

use iced_x86::{
    Decoder, DecoderError, DecoderOptions, FlowControl, Formatter, IntelFormatter, Mnemonic,
    Register,
};

use super::hash::AddressMap;
use super::image::Image;
use super::item::{Instruction, InstructionKind};
use super::FlowErrorKind;

/// The most instructions of a block. The limit keeps overlapping blocks small.
const MAX_BLOCK: usize = 64;

/// The most instructions in the cache. When it is full, it is cleared.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// The longest instruction, in bytes.
pub(crate) const MAX_INSTRUCTION_BYTES: usize = 15;

/// Instructions that are executed one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The first instruction, as an index.
    first: u32,
    count: u32,
    pub(super) end: End,
}

/// How a block continues after its last instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// At this address.
    Next(u64),
    /// At this address, unless tracing ends because of the address space.
    AddressSpace(u64),
    Jump(u64),
    Call {
        target: u64,
        return_to: u64,
    },
    Conditional {
        target: u64,
        next: u64,
    },
    IndirectJump,
    IndirectCall {
        return_to: u64,
    },
    Return,
    Far,
    /// There is no instruction at this address.
    Fault {
        ip: u64,
        kind: FlowErrorKind,
    },
}

impl End {
    /// Returns whether execution can continue at `next`.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn allows(self, next: u64) -> bool {
        match self {
            Self::Next(to) | Self::AddressSpace(to) | Self::Jump(to) => to == next,
            Self::Call { target, .. } => target == next,
            Self::Conditional { target, next: otherwise } => target == next || otherwise == next,
            Self::IndirectJump | Self::IndirectCall { .. } | Self::Return | Self::Far => true,
            Self::Fault { .. } => false,
        }
    }
}

/// The blocks that were decoded so far.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    by_ip: AddressMap<Block>,
    instructions: Vec<Instruction>,
    bitness: u32,
}

impl Blocks {
    pub(super) fn new() -> Self {
        Self { by_ip: AddressMap::default(), instructions: Vec::new(), bitness: 64 }
    }

    fn clear(&mut self) {
        self.by_ip.clear();
        self.instructions.clear();
    }

    /// Clears the cache, and keeps only these instructions.
    pub(super) fn restart(&mut self, instructions: &[Instruction]) {
        self.clear();
        self.instructions.extend_from_slice(instructions);
    }

    /// Sets whether code is 16, 32 or 64 bit.
    pub(super) fn set_bitness(&mut self, bitness: u32) {
        if self.bitness != bitness {
            self.clear();
            self.bitness = bitness;
        }
    }

    /// Returns the block at `ip`. Instructions of other blocks may be removed from the cache.
    #[inline]
    pub(super) fn at(&mut self, ip: u64, image: &Image) -> Block {
        if let Some(block) = self.by_ip.get(&ip) {
            return *block;
        }
        self.decode(ip, image)
    }

    /// Returns the instruction at an index of [`range`](Self::range).
    #[inline]
    pub(super) fn instruction(&self, index: usize) -> Option<Instruction> {
        self.instructions.get(index).copied()
    }

    /// Returns the instructions at these indexes.
    #[inline]
    pub(super) fn instructions(&self, range: Range<usize>) -> &[Instruction] {
        self.instructions.get(range).unwrap_or_default()
    }

    /// Returns the indexes of the instructions of `block`.
    #[inline]
    pub(super) fn range(block: Block) -> Range<usize> {
        block.first as usize..(block.first + block.count) as usize
    }

    /// Returns the index of the instruction at `ip` of `block`.
    pub(super) fn find(&self, block: Block, ip: u64) -> Option<usize> {
        let mut range = Self::range(block);
        range.find(|index| self.instruction(*index).is_some_and(|found| found.ip == ip))
    }

    #[cold]
    fn decode(&mut self, ip: u64, image: &Image) -> Block {
        if self.instructions.len() + MAX_BLOCK > MAX_INSTRUCTIONS {
            self.clear();
        }
        let first = self.instructions.len();
        let mut end = End::Next(ip);
        while let (End::Next(next), true) = (end, self.instructions.len() - first < MAX_BLOCK) {
            end = match decode_one(next, self.bitness, image) {
                Ok((instruction, end)) => {
                    self.instructions.push(instruction);
                    end
                }
                Err(kind) => End::Fault { ip: next, kind },
            };
        }
        let count = (self.instructions.len() - first) as u32;
        let block = Block { first: first as u32, count, end };
        self.by_ip.insert(ip, block);
        block
    }
}

/// An instruction, and how execution continues.
pub(crate) type DecodedInstruction = (Instruction, End);

/// Decodes the instruction at `ip`.
fn decode_one(ip: u64, bitness: u32, image: &Image) -> Result<DecodedInstruction, FlowErrorKind> {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let found = image.read(ip, &mut bytes);
    decode_bytes(ip, bitness, bytes.get(..found).unwrap_or_default())
}

/// Decodes the instruction at `ip`, which begins with `code`.
pub(crate) fn decode_bytes(
    ip: u64,
    bitness: u32,
    code: &[u8],
) -> Result<DecodedInstruction, FlowErrorKind> {
    let mut decoder = Decoder::with_ip(bitness, code, ip, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() {
        let cut_off = matches!(decoder.last_error(), DecoderError::NoMoreBytes);
        return Err(if cut_off { FlowErrorKind::NoCode } else { FlowErrorKind::BadInstruction });
    }
    let (kind, end) = classify(&instruction);
    Ok((Instruction { ip, length: instruction.len() as u8, kind }, end))
}

/// Returns the text of the instruction at `ip`, in Intel's syntax.
#[must_use]
pub fn disassemble(ip: u64, image: &Image) -> String {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let found = image.read(ip, &mut bytes);
    let code = bytes.get(..found).unwrap_or_default();
    let instruction = Decoder::with_ip(64, code, ip, DecoderOptions::NONE).decode();
    let mut text = String::new();
    IntelFormatter::new().format(&instruction, &mut text);
    text
}

fn classify(instruction: &iced_x86::Instruction) -> (InstructionKind, End) {
    let next = instruction.next_ip();
    let target = instruction.near_branch_target();
    match kind_of(instruction) {
        kind @ InstructionKind::Other if writes_cr3(instruction) => (kind, End::AddressSpace(next)),
        kind @ InstructionKind::Other => (kind, End::Next(next)),
        kind @ InstructionKind::Conditional => (kind, End::Conditional { target, next }),
        kind @ InstructionKind::Jump => (kind, End::Jump(target)),
        kind @ InstructionKind::IndirectJump => (kind, End::IndirectJump),
        kind @ InstructionKind::Call => (kind, End::Call { target, return_to: next }),
        kind @ InstructionKind::IndirectCall => (kind, End::IndirectCall { return_to: next }),
        kind @ InstructionKind::Return => (kind, End::Return),
        kind @ InstructionKind::Far => (kind, End::Far),
    }
}

fn kind_of(instruction: &iced_x86::Instruction) -> InstructionKind {
    let near = |near, kind| if near { kind } else { InstructionKind::Far };
    match instruction.flow_control() {
        FlowControl::Next | FlowControl::Exception | FlowControl::XbeginXabortXend => {
            InstructionKind::Other
        }
        FlowControl::ConditionalBranch => InstructionKind::Conditional,
        FlowControl::UnconditionalBranch => {
            near(instruction.is_jmp_short_or_near(), InstructionKind::Jump)
        }
        FlowControl::IndirectBranch => {
            near(instruction.is_jmp_near_indirect(), InstructionKind::IndirectJump)
        }
        FlowControl::Call => near(instruction.is_call_near(), InstructionKind::Call),
        FlowControl::IndirectCall => {
            near(instruction.is_call_near_indirect(), InstructionKind::IndirectCall)
        }
        FlowControl::Return => {
            near(instruction.mnemonic() == Mnemonic::Ret, InstructionKind::Return)
        }
        FlowControl::Interrupt => InstructionKind::Far,
    }
}

fn writes_cr3(instruction: &iced_x86::Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mov && instruction.op0_register() == Register::CR3
}
