//! The machine code of sleds on x86-64.
//!
//! Compilers emit these 11 bytes:
//!
//! ```text
//! entry and tail exit: eb 09                jmp over the next 9 bytes
//!                      66 0f 1f 84 00 ...   nop
//! exit:                c3                   ret
//!                      2e 66 0f 1f 84 ...   nop
//! ```
//!
//! LLVM's runtime writes 11 new bytes, the first two of them last, by an atomic store into a page
//! that is writable and executable. Here one byte turns a sled on and off, so that any way of
//! writing is atomic, also one that does not make the page writable. First the sled is *prepared*:
//! only bytes change that are not executed while it is off. Then its *switch* is stored:
//!
//! ```text
//! entry and tail exit: eb [09]              off: jmp over the next 9 bytes; on, [00]: over none
//!                      e8 ?? ?? ?? ??       call the stub
//!                      0f 1f 40 00          nop
//! exit:                [c3]                 off: ret; on, [e9]: jmp to the stub
//!                      ?? ?? ?? ??
//! ```
//!
//! A prepared sled stays prepared, so a thread may be anywhere in it when the switch is stored.
//!
//! LLVM up to version 18 joins a conditional jump and the jump to another function behind it: the
//! tail exit is then in front of the conditional jump. Its call would change the flags of that
//! jump, and report an exit also when there is none. Such a sled cannot be on.

use trace_xray::layout::SledKind;

/// The length of a sled.
pub(crate) const BYTES: usize = 11;
/// The bytes behind a tail exit that tell whether the jump there is conditional.
const JUMP_BYTES: usize = 2;

const ENTRY: [u8; BYTES] = [0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0x02, 0, 0];
const EXIT: [u8; BYTES] = [0xc3, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0x02, 0, 0];
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;
const RETURN: u8 = 0xc3;
const LONG_NOP: [u8; 4] = [0x0f, 0x1f, 0x40, 0];

/// What a sled reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Entry,
    /// An entry of a function whose first argument is recorded.
    ArgumentEntry,
    Exit,
    /// An exit before a jump to another function.
    TailExit,
}

impl Kind {
    /// Returns the kind of a map's sled, or `None` for events, which are not recorded.
    pub(crate) fn of(kind: SledKind) -> Option<Self> {
        match kind {
            SledKind::Entry => Some(Self::Entry),
            SledKind::LogArgsEntry => Some(Self::ArgumentEntry),
            SledKind::Exit => Some(Self::Exit),
            SledKind::TailExit => Some(Self::TailExit),
            SledKind::CustomEvent | SledKind::TypedEvent => None,
        }
    }

    /// Returns the bytes of a sled, with those behind it that are read.
    pub(crate) fn length(self) -> usize {
        match self {
            Self::Entry | Self::ArgumentEntry | Self::Exit => BYTES,
            Self::TailExit => BYTES + JUMP_BYTES,
        }
    }

    /// Returns a sled as compilers emit it.
    pub(crate) fn original(self) -> &'static [u8; BYTES] {
        match self {
            Self::Entry | Self::ArgumentEntry | Self::TailExit => &ENTRY,
            Self::Exit => &EXIT,
        }
    }

    /// Returns a sled at `address` that is prepared for a call of `stub`, and off. `None` if the
    /// stub is too far.
    pub(crate) fn prepared(self, address: u64, stub: u64) -> Option<[u8; BYTES]> {
        let mut bytes = *self.original();
        let (start, operation) = match self {
            Self::Exit => (0, RETURN),
            _ => (2, CALL),
        };
        let next = address.wrapping_add(start as u64 + 5);
        let distance = i32::try_from(stub.wrapping_sub(next) as i64).ok()?;
        let (code, rest) = bytes.get_mut(start..)?.split_at_mut_checked(5)?;
        let (first, target) = code.split_first_mut()?;
        *first = operation;
        target.copy_from_slice(&distance.to_le_bytes());
        if self != Self::Exit {
            rest.copy_from_slice(&LONG_NOP);
        }
        Some(bytes)
    }

    /// Returns the index and the value of the byte that turns a prepared sled on or off.
    pub(crate) fn switch(self, on: bool) -> (usize, u8) {
        match (self, on) {
            (Self::Exit, true) => (0, JUMP),
            (Self::Exit, false) => (0, RETURN),
            (_, true) => (1, 0),
            (_, false) => (1, 9),
        }
    }
}

/// Returns whether the jump that begins with these bytes is a conditional one.
pub(crate) fn is_conditional(jump: [u8; JUMP_BYTES]) -> bool {
    matches!(jump, [0x70..=0x7f, _] | [0x0f, 0x80..=0x8f])
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

    use super::*;

    const ADDRESS: u64 = 0x40_0000;
    const STUB: u64 = 0x30_0010;

    fn instructions(bytes: &[u8]) -> Vec<Instruction> {
        Decoder::with_ip(64, bytes, ADDRESS, DecoderOptions::NONE).into_iter().collect()
    }

    fn turned_on(kind: Kind) -> Vec<Instruction> {
        let mut bytes = kind.prepared(ADDRESS, STUB).unwrap();
        let (index, value) = kind.switch(true);
        bytes[index] = value;
        instructions(&bytes)
    }

    #[test]
    fn an_entry_that_is_on_calls_the_stub_and_continues_behind_the_sled() {
        for kind in [Kind::Entry, Kind::ArgumentEntry, Kind::TailExit] {
            let [jump, call, nop] = turned_on(kind)[..] else { panic!("three instructions") };
            assert_eq!((jump.mnemonic(), jump.near_branch_target()), (Mnemonic::Jmp, ADDRESS + 2));
            assert_eq!((call.mnemonic(), call.near_branch_target()), (Mnemonic::Call, STUB));
            assert_eq!((nop.mnemonic(), nop.next_ip()), (Mnemonic::Nop, ADDRESS + 11));
        }
    }

    #[test]
    fn an_exit_that_is_on_jumps_to_the_stub() {
        let jump = turned_on(Kind::Exit)[0];
        assert_eq!((jump.mnemonic(), jump.near_branch_target()), (Mnemonic::Jmp, STUB));
    }

    #[test]
    fn a_sled_that_is_off_executes_what_the_compiler_emitted() {
        for kind in [Kind::Entry, Kind::ArgumentEntry, Kind::TailExit, Kind::Exit] {
            let prepared = kind.prepared(ADDRESS, STUB).unwrap();
            let original = instructions(kind.original())[0];
            assert_eq!(instructions(&prepared)[0], original);
            let (index, value) = kind.switch(false);
            assert_eq!(prepared[index], value, "{kind:?} is prepared off");
        }
    }

    #[test]
    fn a_stub_that_is_too_far_is_none() {
        assert_eq!(Kind::Entry.prepared(ADDRESS, ADDRESS + (1 << 31) + 7), None);
        assert!(Kind::Entry.prepared(ADDRESS, ADDRESS + (1 << 31) + 6).is_some());
    }
}
