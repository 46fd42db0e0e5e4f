//! Instructions, and how execution continues after them.

use iced_x86::{
    Decoder, DecoderError, DecoderOptions, FlowControl, Formatter, IntelFormatter, Mnemonic,
    Register,
};

use super::image::Image;
use super::item::{Instruction, InstructionKind};
use super::FlowErrorKind;

/// The longest instruction, in bytes.
pub(crate) const MAX_INSTRUCTION_BYTES: usize = 15;

/// How execution continues after an instruction, or a block of them.
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

/// An instruction, and how execution continues.
pub(crate) type DecodedInstruction = (Instruction, End);

/// Decodes the instruction at `ip`.
pub(super) fn decode_one(
    ip: u64,
    bitness: u32,
    image: &Image,
) -> Result<DecodedInstruction, FlowErrorKind> {
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

/// Returns the text of the instruction at `ip`, of 16, 32 or 64-bit code, in Intel's syntax.
#[must_use]
pub fn disassemble(ip: u64, bitness: u32, image: &Image) -> String {
    let mut text = String::new();
    IntelFormatter::new().format(&instruction_at(ip, bitness, image), &mut text);
    text
}

/// Returns whether the far branch at `ip`, in 16, 32 or 64-bit code, is a return, such as one to
/// user space.
#[must_use]
pub fn is_far_return(ip: u64, bitness: u32, image: &Image) -> bool {
    use Mnemonic::{Iret, Iretd, Iretq, Retf, Sysexit, Sysexitq, Sysret, Sysretq, Uiret};
    let mnemonic = instruction_at(ip, bitness, image).mnemonic();
    let returns = [Iret, Iretd, Iretq, Retf, Sysexit, Sysexitq, Sysret, Sysretq, Uiret];
    returns.contains(&mnemonic)
}

fn instruction_at(ip: u64, bitness: u32, image: &Image) -> iced_x86::Instruction {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let found = image.read(ip, &mut bytes);
    let code = bytes.get(..found).unwrap_or_default();
    Decoder::with_ip(bitness, code, ip, DecoderOptions::NONE).decode()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_returns_are_no_far_calls() {
        let code: [(&[u8], bool); 6] = [
            (&[0x48, 0xcf], true),
            (&[0xcb], true),
            (&[0x48, 0x0f, 0x07], true),
            (&[0x0f, 0x05], false),
            (&[0xcd, 0x80], false),
            (&[0xc3], false),
        ];
        for (bytes, expected) in code {
            let mut image = Image::new();
            image.insert(0x1000, bytes);
            assert_eq!(is_far_return(0x1000, 64, &image), expected, "{bytes:x?}");
        }
        assert!(!is_far_return(0, 64, &Image::new()));
    }

    #[test]
    fn code_has_the_instructions_of_its_mode() {
        let mut image = Image::new();
        image.insert(0x1000, &[0x48, 0xcf]);
        let text = |bitness| disassemble(0x1000, bitness, &image);
        assert_eq!([64, 32, 16].map(text), ["iretq", "dec eax", "dec ax"]);
        let returns = |bitness| is_far_return(0x1000, bitness, &image);
        assert_eq!([64, 32, 16].map(returns), [true, false, false]);
    }
}
