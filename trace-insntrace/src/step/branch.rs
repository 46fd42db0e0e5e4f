//! Near branches, executed by the tracer in place of the processor.

use iced_x86::{ConditionCode, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use libc::user_regs_struct;

/// The flags in `eflags`.
mod flag {
    pub(super) const CARRY: u64 = 1;
    pub(super) const PARITY: u64 = 1 << 2;
    pub(super) const ZERO: u64 = 1 << 6;
    pub(super) const SIGN: u64 = 1 << 7;
    pub(super) const OVERFLOW: u64 = 1 << 11;
    /// Accesses that are not aligned are errors.
    pub(super) const ALIGNMENT: u64 = 1 << 18;
}

/// The first address that a 64-bit program cannot have with page tables of four levels.
const END_OF_ADDRESSES: u64 = 1 << 47;

/// The memory of a program. Both calls fail where an instruction of the program would.
pub(super) trait Memory {
    fn read(&self, address: u64) -> Option<u64>;
    fn write(&self, address: u64, value: u64) -> Option<()>;
}

/// A near branch whose execution is the same on every processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Branch {
    Jump(u64),
    Conditional {
        condition: ConditionCode,
        target: u64,
        next: u64,
    },
    Indirect(Operand),
    Call {
        target: u64,
        return_to: u64,
    },
    IndirectCall {
        operand: Operand,
        return_to: u64,
    },
    /// The return address and this many bytes are popped.
    Return {
        popped: u64,
    },
}

/// The target of an indirect branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Register(Register),
    Memory { base: Register, index: Register, scale: u64, displacement: u64 },
}

impl Branch {
    /// Decodes the instruction at `ip`. Returns `None` if it is no near branch, or one that depends
    /// on more than registers, flags and memory.
    ///
    /// Prefixes of the operand's size are ignored by Intel's processors and not by AMD's. A REX
    /// prefix before another one has no effect.
    pub(super) fn decode(ip: u64, code: &[u8]) -> Option<Self> {
        const IGNORED: [u8; 5] = [0x2e, 0x36, 0x3e, 0xf2, 0xf3];
        const OTHERS: [u8; 6] = [0x26, 0x64, 0x65, 0x66, 0x67, 0xf0];
        let is_rex = |byte: &u8| (0x40..=0x4f).contains(byte);
        let prefix = code.iter().find(|byte| !IGNORED.contains(byte) && !is_rex(byte))?;
        if OTHERS.contains(prefix) {
            return None;
        }
        let instruction = Decoder::with_ip(64, code, ip, DecoderOptions::NONE).decode();
        let target = instruction.near_branch_target();
        let next = instruction.next_ip();
        if instruction.is_jcc_short_or_near() {
            let condition = instruction.condition_code();
            return Some(Self::Conditional { condition, target, next });
        }
        if instruction.is_jmp_short_or_near() {
            return Some(Self::Jump(target));
        }
        if instruction.is_call_near() {
            return Some(Self::Call { target, return_to: next });
        }
        if instruction.is_jmp_near_indirect() {
            return Operand::of(&instruction).map(Self::Indirect);
        }
        if instruction.is_call_near_indirect() {
            let operand = Operand::of(&instruction)?;
            return Some(Self::IndirectCall { operand, return_to: next });
        }
        if instruction.mnemonic() == Mnemonic::Ret {
            let more = if instruction.op_count() == 0 { 0 } else { instruction.immediate(0) };
            return Some(Self::Return { popped: 8 + more });
        }
        None
    }

    /// Executes the branch, and returns the address of the next instruction. Returns `None`, and
    /// changes nothing, if the processor has to execute it: it may be an error.
    pub(super) fn execute(
        self,
        registers: &mut user_regs_struct,
        memory: &impl Memory,
    ) -> Option<u64> {
        if registers.eflags & flag::ALIGNMENT != 0 {
            return None;
        }
        let mut sp = registers.rsp;
        let to = match self {
            Self::Jump(target) => target,
            Self::Conditional { condition, target, next } => {
                if holds(condition, registers.eflags)? {
                    target
                } else {
                    next
                }
            }
            Self::Indirect(operand) => operand.value(registers, memory)?,
            Self::Call { target, .. } => target,
            Self::IndirectCall { operand, .. } => operand.value(registers, memory)?,
            Self::Return { popped } => {
                sp = sp.wrapping_add(popped);
                memory.read(registers.rsp)?
            }
        };
        if to >= END_OF_ADDRESSES {
            return None;
        }
        if let Self::Call { return_to, .. } | Self::IndirectCall { return_to, .. } = self {
            sp = sp.wrapping_sub(8);
            memory.write(sp, return_to)?;
        }
        (registers.rip, registers.rsp) = (to, sp);
        Some(to)
    }
}

impl Operand {
    fn of(instruction: &Instruction) -> Option<Self> {
        match instruction.op0_kind() {
            OpKind::Register => Some(Self::Register(instruction.op0_register())),
            OpKind::Memory if instruction.is_ip_rel_memory_operand() => Some(Self::Memory {
                base: Register::None,
                index: Register::None,
                scale: 1,
                displacement: instruction.ip_rel_memory_address(),
            }),
            OpKind::Memory => Some(Self::Memory {
                base: instruction.memory_base(),
                index: instruction.memory_index(),
                scale: instruction.memory_index_scale().into(),
                displacement: instruction.memory_displacement64(),
            }),
            _ => None,
        }
    }

    fn value(self, registers: &user_regs_struct, memory: &impl Memory) -> Option<u64> {
        match self {
            Self::Register(register) => value_of(register, registers),
            Self::Memory { base, index, scale, displacement } => {
                let index = value_of(index, registers)?.wrapping_mul(scale);
                let base = value_of(base, registers)?;
                memory.read(base.wrapping_add(index).wrapping_add(displacement))
            }
        }
    }
}

/// Returns the value of a register of 64 bits; no register is 0.
fn value_of(register: Register, registers: &user_regs_struct) -> Option<u64> {
    Some(match register {
        Register::None => 0,
        Register::RAX => registers.rax,
        Register::RBX => registers.rbx,
        Register::RCX => registers.rcx,
        Register::RDX => registers.rdx,
        Register::RSI => registers.rsi,
        Register::RDI => registers.rdi,
        Register::RSP => registers.rsp,
        Register::RBP => registers.rbp,
        Register::R8 => registers.r8,
        Register::R9 => registers.r9,
        Register::R10 => registers.r10,
        Register::R11 => registers.r11,
        Register::R12 => registers.r12,
        Register::R13 => registers.r13,
        Register::R14 => registers.r14,
        Register::R15 => registers.r15,
        _ => return None,
    })
}

/// Returns whether a condition holds.
fn holds(condition: ConditionCode, flags: u64) -> Option<bool> {
    let is = |flag| flags & flag != 0;
    let (zero, sign) = (is(flag::ZERO), is(flag::SIGN));
    let less = sign != is(flag::OVERFLOW);
    Some(match condition {
        ConditionCode::o => is(flag::OVERFLOW),
        ConditionCode::no => !is(flag::OVERFLOW),
        ConditionCode::b => is(flag::CARRY),
        ConditionCode::ae => !is(flag::CARRY),
        ConditionCode::e => zero,
        ConditionCode::ne => !zero,
        ConditionCode::be => is(flag::CARRY) || zero,
        ConditionCode::a => !is(flag::CARRY) && !zero,
        ConditionCode::s => sign,
        ConditionCode::ns => !sign,
        ConditionCode::p => is(flag::PARITY),
        ConditionCode::np => !is(flag::PARITY),
        ConditionCode::l => less,
        ConditionCode::ge => !less,
        ConditionCode::le => less || zero,
        ConditionCode::g => !less && !zero,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;

    /// Memory in words; others are not mapped.
    struct Words(RefCell<BTreeMap<u64, u64>>);

    impl Memory for Words {
        fn read(&self, address: u64) -> Option<u64> {
            self.0.borrow().get(&address).copied()
        }

        fn write(&self, address: u64, value: u64) -> Option<()> {
            self.0.borrow_mut().get_mut(&address).map(|word| *word = value)
        }
    }

    fn words(words: &[(u64, u64)]) -> Words {
        Words(RefCell::new(words.iter().copied().collect()))
    }

    fn registers() -> user_regs_struct {
        user_regs_struct {
            r15: 0,
            r14: 0,
            r13: 0,
            r12: 0,
            rbp: 0,
            rbx: 0,
            r11: 0,
            r10: 0,
            r9: 0,
            r8: 0,
            rax: 0x10,
            rcx: 2,
            rdx: 0,
            rsi: 0,
            rdi: 0,
            orig_rax: 0,
            rip: 0x1000,
            cs: 0x33,
            eflags: 2,
            rsp: 0x8000,
            ss: 0,
            fs_base: 0,
            gs_base: 0,
            ds: 0,
            es: 0,
            fs: 0,
            gs: 0,
        }
    }

    /// Executes code at 0x1000, and returns the next address and the stack pointer.
    fn execute(code: &[u8], memory: &Words) -> Option<(u64, u64)> {
        let mut registers = registers();
        let to = Branch::decode(0x1000, code)?.execute(&mut registers, memory)?;
        assert_eq!(registers.rip, to);
        Some((to, registers.rsp))
    }

    #[test]
    fn branches_go_where_the_processor_goes() {
        let memory = words(&[(0x14, 0x5000), (0x7ff8, 0), (0x8000, 0x4000), (0x1106, 0x6000)]);
        assert_eq!(execute(&[0xeb, 0x10], &memory), Some((0x1012, 0x8000)));
        assert_eq!(execute(&[0xc3], &memory), Some((0x4000, 0x8008)));
        assert_eq!(execute(&[0xf3, 0xc3], &memory), Some((0x4000, 0x8008)));
        assert_eq!(execute(&[0xc2, 0x10, 0], &memory), Some((0x4000, 0x8018)));
        // jmp [rax + rcx*2], notrack jmp rax, jmp [rip + 0x100]
        assert_eq!(execute(&[0xff, 0x24, 0x48], &memory), Some((0x5000, 0x8000)));
        assert_eq!(execute(&[0x3e, 0xff, 0xe0], &memory), Some((0x10, 0x8000)));
        assert_eq!(execute(&[0xff, 0x25, 0, 1, 0, 0], &memory), Some((0x6000, 0x8000)));
        // jmp r12, rex.w jmp [rax + 4], rex.w ret
        assert_eq!(execute(&[0x41, 0xff, 0xe4], &memory), Some((0, 0x8000)));
        assert_eq!(execute(&[0x48, 0xff, 0x60, 4], &memory), Some((0x5000, 0x8000)));
        assert_eq!(execute(&[0x48, 0xc3], &memory), Some((0x4000, 0x8008)));
        // call [rax + 4], and a direct call
        assert_eq!(execute(&[0xff, 0x50, 4], &memory), Some((0x5000, 0x7ff8)));
        assert_eq!(memory.read(0x7ff8), Some(0x1003));
        assert_eq!(execute(&[0xe8, 0, 1, 0, 0], &memory), Some((0x1105, 0x7ff8)));
        assert_eq!(memory.read(0x7ff8), Some(0x1005));
    }

    #[test]
    fn the_processor_executes_what_may_fail() {
        let memory = words(&[(0x8000, 1 << 47)]);
        assert_eq!(execute(&[0xc3], &memory), None, "not canonical");
        assert_eq!(execute(&[0xff, 0x50, 4], &memory), None, "no target");
        assert_eq!(execute(&[0xff, 0xd0], &memory), None, "no stack");
        let mut with_alignment = registers();
        with_alignment.eflags |= flag::ALIGNMENT;
        let jump = Branch::decode(0x1000, &[0xeb, 0]).unwrap();
        assert_eq!(jump.execute(&mut with_alignment, &memory), None);
    }

    #[test]
    fn branches_that_depend_on_the_processor_are_not_decoded() {
        for prefix in [0x66, 0x67, 0x64, 0x65, 0xf0] {
            for code in [&[0xeb, 0][..], &[0xe8, 0, 0, 0, 0], &[0xc3], &[0xff, 0xe0], &[0x74, 0]] {
                assert_eq!(Branch::decode(0, &[&[prefix], code].concat()), None);
                assert_eq!(Branch::decode(0, &[&[0xf2, prefix], code].concat()), None);
                assert_eq!(Branch::decode(0, &[&[0x48, prefix], code].concat()), None);
            }
        }
        // loop, jrcxz, syscall, int3, retf, iretq, nop, REX.W jmp far [rax], part of a jump, REX.W
        // before jmp gs:[rax]
        let others: [&[u8]; 10] = [
            &[0xe2, 0],
            &[0xe3, 0],
            &[0x0f, 5],
            &[0xcc],
            &[0xcb],
            &[0x48, 0xcf],
            &[0x90],
            &[0x48, 0xff, 0x28],
            &[0xe9, 0],
            &[0x48, 0x65, 0xff, 0x20],
        ];
        for code in others {
            assert_eq!(Branch::decode(0, code), None, "{code:x?}");
        }
    }

    #[test]
    fn conditions_are_those_of_the_flags() {
        // The opcodes 0x70 to 0x7f, with whether each branches: no flag, each flag, and two.
        let table = [
            (0, 0b1010_1010_1010_1010_u16),
            (flag::OVERFLOW, 0b0101_1010_1010_1001),
            (flag::CARRY, 0b1010_1010_0110_0110),
            (flag::ZERO, 0b0110_1010_0101_1010),
            (flag::SIGN, 0b0101_1001_1010_1010),
            (flag::PARITY, 0b1010_0110_1010_1010),
            (flag::SIGN | flag::OVERFLOW, 0b1010_1001_1010_1001),
        ];
        for (flags, taken) in table {
            for opcode in 0..16 {
                let branch = Branch::decode(0x1000, &[0x70 + opcode, 0x10]).unwrap();
                let mut registers = registers();
                registers.eflags = flags;
                let to = branch.execute(&mut registers, &words(&[])).unwrap();
                assert_eq!(to == 0x1012, taken >> opcode & 1 != 0, "{flags:x} {opcode:x}");
            }
        }
    }
}
