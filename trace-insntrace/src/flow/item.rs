//! The items of the flow decoder.

use crate::pt::Packet;

/// A part of a program's execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Item {
    /// An instruction was executed.
    Instruction(Instruction),
    /// An event.
    Event(Event),
}

/// A part of a program's execution, with several instructions at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// Instructions were executed, one after another. Addresses have gaps at direct jumps.
    Instructions(&'a [Instruction]),
    /// An event.
    Event(Event),
}

/// An instruction of a code image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Its address.
    pub ip: u64,
    /// Its size in bytes.
    pub length: u8,
    /// How it continues.
    pub kind: InstructionKind,
}

/// How an instruction continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstructionKind {
    /// At the next instruction.
    Other,
    /// At the next instruction, or at a target in the code.
    Conditional,
    /// At a target in the code.
    Jump,
    /// At a target that is not in the code.
    IndirectJump,
    /// At a target in the code, as a call.
    Call,
    /// At a target that is not in the code, as a call.
    IndirectCall,
    /// At the caller.
    Return,
    /// Anywhere: a system call or its return, an interrupt instruction, or a far branch.
    Far,
}

/// An event between two instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Decoding starts at a PSB: at the stream's start, or after an error.
    Synchronized {
        /// The next instruction, or `None` if tracing is off.
        ip: Option<u64>,
    },
    /// Tracing starts.
    Enabled {
        /// The next instruction.
        ip: u64,
    },
    /// Tracing stops after the last instruction.
    Disabled {
        /// Where execution continues, if the trace has it.
        to: Option<u64>,
    },
    /// An interrupt or an exception.
    Interrupted {
        /// The instruction that was not executed.
        from: u64,
        /// The next instruction, or `None` if tracing stops and the trace does not have it.
        to: Option<u64>,
        /// Whether tracing stops.
        disabled: bool,
    },
    /// Packets were lost.
    Overflow {
        /// The next instruction, or `None` if tracing is off.
        ip: Option<u64>,
    },
    /// A packet without an effect on the flow.
    ///
    /// It is returned when all branches before it are taken, possibly before its instruction.
    Packet {
        /// The packet.
        packet: Packet,
        /// The IP of the FUP that belongs to it.
        ip: Option<u64>,
    },
}
