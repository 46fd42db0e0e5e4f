//! Why an instruction flow cannot be followed.

use core::fmt;

use crate::pt::DecodeError;

/// Packets and code do not agree. The flow continues at the next PSB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowError {
    /// The offset in the stream of the packet that does not fit.
    pub offset: u64,
    /// The address where the flow ends, or `None` if tracing is off.
    pub ip: Option<u64>,
    /// The contradiction.
    pub kind: FlowErrorKind,
}

impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset 0x{:x}", self.offset)?;
        if let Some(ip) = self.ip {
            write!(f, ", ip 0x{ip:x}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl core::error::Error for FlowError {}

/// The contradiction in an instruction flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowErrorKind {
    /// Bytes are not a packet.
    Packet(DecodeError),
    /// A packet that is not allowed here, for any code.
    UnexpectedPacket,
    /// A packet that needs an IP has none.
    NoIp,
    /// A MODE packet whose bits contradict each other.
    BadMode,
    /// The image has no code at the IP.
    NoCode,
    /// The code at the IP is not an instruction.
    BadInstruction,
    /// The instruction needs the result of a conditional branch, and the packet is another one.
    NoBranch,
    /// The instruction needs a target, and the packet is another one.
    NoTarget,
    /// A compressed return is not "taken".
    ReturnNotTaken,
    /// A compressed return has no call.
    ReturnWithoutCall,
    /// The code runs in a circle and never reaches the packet's place.
    NoProgress,
}

impl core::error::Error for FlowErrorKind {}

impl fmt::Display for FlowErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Packet(error) => return error.fmt(f),
            Self::UnexpectedPacket => "unexpected packet",
            Self::NoIp => "the packet has no ip",
            Self::BadMode => "the mode packet contradicts itself",
            Self::NoCode => "the image has no code here",
            Self::BadInstruction => "the code is not an instruction",
            Self::NoBranch => "the instruction needs a branch, and the packet is another one",
            Self::NoTarget => "the instruction needs a target, and the packet is another one",
            Self::ReturnNotTaken => "a compressed return is not taken",
            Self::ReturnWithoutCall => "a compressed return has no call",
            Self::NoProgress => "the code loops without a packet",
        };
        f.write_str(text)
    }
}
