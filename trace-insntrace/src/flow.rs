//! The executed instructions of a program, from its packets and its code.
//!
//! - [`Image`] is the code, by address.
//! - [`FlowDecoder`] takes bytes of a stream and returns instructions and events.

mod blocks;
mod branches;
mod code;
mod cue;
mod decoder;
mod error;
mod hash;
mod image;
mod item;
mod progress;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use code::{decode_bytes, DecodedInstruction, End, MAX_INSTRUCTION_BYTES};
pub use code::{disassemble, is_far_return};
pub(crate) use decoder::Code;
pub use decoder::FlowDecoder;
pub use error::{FlowError, FlowErrorKind};
pub use image::Image;
pub use item::{Event, Instruction, InstructionKind, Item, Part};
